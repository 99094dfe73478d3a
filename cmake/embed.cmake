# SPDX-License-Identifier: Apache-2.0
# Writes sources.h and sources.c, which hold the text of each kernel file as an array of bytes. (Such
# long string literals exceed the minimum that the C standard guarantees.)
#
#   cmake -DOUT=folder "-DFILES=symbol=path;symbol=path" [-DPREFIX=rungi_source_] -P embed.cmake
if(NOT PREFIX)
    set(PREFIX rungi_source_)
endif()
set(header "/* Made by cmake/embed.cmake. */\n#ifndef RUNGI_SOURCES_H\n#define RUNGI_SOURCES_H\n\n")
set(source "/* Made by cmake/embed.cmake. */\n#include \"sources.h\"\n")
foreach(entry IN LISTS FILES)
    string(REGEX MATCH "^([^=]+)=(.+)$" matched "${entry}")
    set(symbol "${PREFIX}${CMAKE_MATCH_1}")
    file(READ "${CMAKE_MATCH_2}" bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(................................................................................)"
           "\\1\n" bytes "${bytes}")
    string(APPEND header "extern const char ${symbol}[];\n")
    string(APPEND source "\nconst char ${symbol}[] = {\n${bytes}0x00};\n")
endforeach()
string(APPEND header "\n#endif /* RUNGI_SOURCES_H */\n")
file(WRITE "${OUT}/sources.h" "${header}")
file(WRITE "${OUT}/sources.c" "${source}")
