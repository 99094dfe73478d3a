# SPDX-License-Identifier: Apache-2.0
"""hostile.py SOURCE TO - writes a copy of a kernel file whose comments, strings and names would break a page without escapes."""
import sys

source = open(sys.argv[1], "rb").read()
attack = b'</script><script>window.hacked=1</script><img src="x" onerror="window.hacked=1"/>]]><!-- <![CDATA[ &lt; &amp; \\u003c'
lines = [b"// " + attack, b"/* " + attack.replace(b"*/", b"") + b' "quotes" \'single\' `ticks` ${window.hacked=1} */',
         b"// invalid UTF-8: \xff\xfe\xc3 and a control character: \x01\x1b[31m", b"// valid: \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
         b"// " + b"x" * 5000, b"// no break: " + b"y" * 300 + b"</td></tr></table>",
         b'#define NAME "</script><script>window.hacked=1</script>"']
text = source.replace(b"a_tile", "t\u00e4ile".encode()).replace(b"sgemm_conflict(", b"sgemm_conflict(/* </b>&\"' */")
text = text.replace(b"__syncthreads();", b"__syncthreads(); // </code></td></tr></table></script>" + b'<script>window.hacked=1</script>', 1)
open(sys.argv[2], "wb").write(b"\r\n".join(lines) + b"\n" + text)
