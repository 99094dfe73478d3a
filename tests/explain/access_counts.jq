# access_counts.jq - the JSON of `rung explain --all` as rows: type, kernel, line, kind, array, and the counts below.
# Requests of several widths are added; the width is the largest one.
def kernels: if .kernels then .kernels[] else . end;
kernels | .kernel as $kernel | (.lines // []) | group_by([.line, .kind, .array])[] |
[$type, $kernel, .[0].line, .[0].kind, .[0].array, (map(.bytes_a_lane) | max),
 (map(.requests) | add), (map(.lanes) | add), (map(.bytes) | add), (map(.sectors) | add), (map(.lines) | add),
 (map(.sectors_ideal) | add), (map(.wavefronts) | add), (map(.wavefronts_ideal) | add)] | @tsv
