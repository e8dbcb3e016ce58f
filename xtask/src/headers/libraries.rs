//! The libraries: where their headers are, and what each must be able to do.

use super::library::{Library, call, expect, keep};

pub(super) const LIBRARIES: &[Library] = &[
    Library {
        name: "sqlite3",
        package: "libsqlite3-dev",
        headers: &["/usr/include/sqlite3.h"],
        file: "libsqlite3.so.0",
        core: "opens, executes with rows, prepares, steps, reads columns",
        story: &[
            keep("sqlite3_open", r#"{"filename":":memory:"}"#, ("ppDb", "db")),
            call("sqlite3_exec", r#"{"sqlite3":"$db","sql":"create table t(a); insert into t values('x')"}"#),
            expect(
                "sqlite3_exec",
                r#"{"sqlite3":"$db","sql":"select * from t"}"#,
                ("rows", r#"[{"a":"x"}]"#),
            ),
            keep("sqlite3_prepare_v2", r#"{"db":"$db","zSql":"select a from t"}"#, ("ppStmt", "st")),
            expect("sqlite3_step", r#"{"sqlite3_stmt":"$st"}"#, ("code", r#""SQLITE_ROW""#)),
            expect("sqlite3_column_text", r#"{"sqlite3_stmt":"$st","iCol":0}"#, ("result", r#""x""#)),
            call("sqlite3_finalize", r#"{"pStmt":"$st"}"#),
            call("sqlite3_close", r#"{"sqlite3":"$db"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "zlib",
        package: "zlib1g-dev",
        headers: &["/usr/include/zlib.h"],
        file: "libz.so.1",
        core: "compresses and gives back",
        story: &[
            keep("compress", r#"{"source":"hello hello hello"}"#, ("dest", "packed")),
            expect("uncompress", r#"{"source":"$packed"}"#, ("dest", r#""hello hello hello""#)),
            expect("crc32", r#"{"crc":0,"buf":"hello"}"#, ("result", "907060870")),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "zstd",
        package: "libzstd-dev",
        headers: &["/usr/include/zstd.h"],
        file: "libzstd.so.1",
        core: "compresses and gives back",
        story: &[
            keep("ZSTD_compress", r#"{"src":"hello hello hello","compressionLevel":3}"#, ("dst", "packed")),
            expect("ZSTD_decompress", r#"{"src":"$packed"}"#, ("dst", r#""hello hello hello""#)),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "lz4",
        package: "liblz4-dev",
        headers: &["/usr/include/lz4.h"],
        file: "liblz4.so.1",
        core: "compresses and gives back",
        story: &[
            keep("LZ4_compress_default", r#"{"src":"hello hello hello hello"}"#, ("dst", "packed")),
            expect("LZ4_decompress_safe", r#"{"src":"$packed"}"#, ("dst", r#""hello hello hello hello""#)),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "bzip2",
        package: "libbz2-dev",
        headers: &["/usr/include/bzlib.h"],
        file: "libbz2.so.1.0",
        core: "compresses and gives back",
        story: &[
            keep(
                "BZ2_bzBuffToBuffCompress",
                r#"{"source":"hello hello","blockSize100k":9,"verbosity":0,"workFactor":0}"#,
                ("dest", "packed"),
            ),
            expect(
                "BZ2_bzBuffToBuffDecompress",
                r#"{"source":"$packed","small":0,"verbosity":0}"#,
                ("dest", r#""hello hello""#),
            ),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "uuid",
        package: "uuid-dev",
        headers: &["/usr/include/uuid/uuid.h"],
        file: "libuuid.so.1",
        open: true,
        core: "makes, writes and reads identifiers",
        story: &[
            keep("uuid_generate_random", "{}", ("out", "id")),
            keep("uuid_unparse", r#"{"uu":"$id"}"#, ("out", "text")),
            call("uuid_parse", r#"{"in":"$text"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "magic",
        package: "libmagic-dev",
        headers: &["/usr/include/magic.h"],
        file: "libmagic.so.1",
        open: true,
        core: "tells the type of bytes",
        story: &[
            keep("magic_open", r#"{"arg0":"MAGIC_MIME_TYPE"}"#, ("result", "magic")),
            call("magic_load", r#"{"magic_set":"$magic","arg1":null}"#),
            expect(
                "magic_buffer",
                r##"{"magic_set":"$magic","arg1":"#!/bin/sh\n"}"##,
                ("result", r#""text/x-shellscript""#),
            ),
            call("magic_close", r#"{"magic_set":"$magic"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "pcre2",
        package: "libpcre2-dev",
        headers: &["/usr/include/pcre2.h"],
        file: "libpcre2-8.so.0",
        flags: &["-DPCRE2_CODE_UNIT_WIDTH=8"],
        core: "compiles, matches, gives a group",
        story: &[
            keep(
                "pcre2_compile_8",
                r#"{"arg0":"a(b+)c","arg2":0,"pcre2_compile_context_8":null}"#,
                ("result", "code"),
            ),
            keep(
                "pcre2_match_data_create_from_pattern_8",
                r#"{"pcre2_code_8":"$code","pcre2_general_context_8":null}"#,
                ("result", "data"),
            ),
            expect(
                "pcre2_match_8",
                r#"{"pcre2_code_8":"$code","arg1":"xxabbc","arg3":0,"arg4":0,"pcre2_match_data_8":"$data","pcre2_match_context_8":null}"#,
                ("result", "2"),
            ),
            expect(
                "pcre2_substring_get_bynumber_8",
                r#"{"pcre2_match_data_8":"$data","arg1":1}"#,
                ("arg2", r#""bb""#),
            ),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "git2",
        package: "libgit2-dev",
        headers: &["/usr/include/git2.h"],
        file: "libgit2.so.1.5",
        open: true,
        core: "makes a repository, stores content and tells its name",
        story: &[
            expect("git_libgit2_init", "{}", ("result", "1")),
            keep("git_repository_init", r#"{"path":"$folder/repository","is_bare":1}"#, ("out", "r")),
            keep("git_blob_create_from_buffer", r#"{"repo":"$r","buffer":"hello\n"}"#, ("id", "id")),
            expect(
                "git_oid_tostr_s",
                r#"{"oid":"$id"}"#,
                ("result", r#""ce013625030ba8dba906f756967f9e9ca394464a""#),
            ),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "sodium",
        package: "libsodium-dev",
        headers: &["/usr/include/sodium.h"],
        file: "libsodium.so.23",
        open: true,
        core: "hashes, encrypts and decrypts",
        story: &[
            expect(
                "crypto_hash_sha256",
                r#"{"in":"abc"}"#,
                ("out", r#""ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad""#),
            ),
            keep(
                "crypto_secretbox_easy",
                r#"{"m":"secret","n":"000000000000000000000000000000000000000000000000","k":"0000000000000000000000000000000000000000000000000000000000000000"}"#,
                ("c", "c"),
            ),
            expect(
                "crypto_secretbox_open_easy",
                r#"{"c":"$c","n":"000000000000000000000000000000000000000000000000","k":"0000000000000000000000000000000000000000000000000000000000000000"}"#,
                ("m", r#""secret""#),
            ),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "qrencode",
        package: "libqrencode-dev",
        headers: &["/usr/include/qrencode.h"],
        file: "libqrencode.so.4",
        core: "encodes and gives the dots",
        story: &[
            keep(
                "QRcode_encodeString",
                r#"{"string":"hi","version":0,"level":"QR_ECLEVEL_L","hint":"QR_MODE_8","casesensitive":1}"#,
                ("result", "code"),
            ),
            call("QRcode_read", r#"{"QRcode":"$code"}"#),
            call("QRcode_free", r#"{"qrcode":"$code"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "cmark",
        package: "libcmark-dev",
        headers: &["/usr/include/cmark.h"],
        file: "libcmark.so.0.30.2",
        core: "parses and renders",
        story: &[
            keep(
                "cmark_parse_document",
                r##"{"buffer":"# Hi","options":"CMARK_OPT_DEFAULT"}"##,
                ("result", "node"),
            ),
            expect("cmark_render_html", r#"{"root":"$node","options":0}"#, ("result", r#""<h1>Hi</h1>\n""#)),
            call("cmark_node_free", r#"{"node":"$node"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "jansson",
        package: "libjansson-dev",
        headers: &["/usr/include/jansson.h"],
        file: "libjansson.so.4",
        core: "parses and prints",
        story: &[
            keep("json_loads", r#"{"input":"{\"a\":[1,2]}","flags":0}"#, ("result", "json")),
            expect(
                "json_dumps",
                r#"{"json":"$json","flags":["JSON_COMPACT"]}"#,
                ("result", r#""{\"a\":[1,2]}""#),
            ),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "geos",
        package: "libgeos-dev",
        headers: &["/usr/include/geos_c.h"],
        file: "libgeos_c.so.1",
        core: "reads a shape, measures it, writes it",
        story: &[
            keep("GEOS_init_r", "{}", ("result", "c")),
            keep("GEOSWKTReader_create_r", r#"{"handle":"$c"}"#, ("result", "r")),
            keep(
                "GEOSWKTReader_read_r",
                r#"{"handle":"$c","reader":"$r","wkt":"POLYGON((0 0,0 2,2 2,2 0,0 0))"}"#,
                ("result", "g"),
            ),
            expect("GEOSArea_r", r#"{"handle":"$c","g":"$g"}"#, ("area", "4.0")),
            keep("GEOSWKTWriter_create_r", r#"{"handle":"$c"}"#, ("result", "w")),
            call("GEOSWKTWriter_write_r", r#"{"handle":"$c","writer":"$w","g":"$g"}"#),
            call("GEOSGeom_destroy_r", r#"{"handle":"$c","g":"$g"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "xml2",
        package: "libxml2-dev",
        headers: &["/usr/include/libxml2/libxml/parser.h"],
        file: "libxml2.so.2",
        flags: &["-I/usr/include/libxml2"],
        core: "parses and reads content",
        story: &[
            keep(
                "xmlReadMemory",
                r#"{"buffer":"<a>x</a>","URL":null,"encoding":null,"options":0}"#,
                ("result", "doc"),
            ),
            keep("xmlDocGetRootElement", r#"{"doc":"$doc"}"#, ("result", "root")),
            expect("xmlNodeGetContent", r#"{"cur":"$root"}"#, ("result", r#""x""#)),
            call("xmlFreeDoc", r#"{"cur":"$doc"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "gmp",
        package: "libgmp-dev",
        headers: &["/usr/include/x86_64-linux-gnu/gmp.h"],
        file: "libgmp.so.10",
        core: "computes with large numbers",
        story: &[
            keep("__mpz_struct_allocate", "{}", ("result", "n")),
            call("__gmpz_init", r#"{"__mpz_struct":"$n"}"#),
            call(
                "__gmpz_set_str",
                r#"{"__mpz_struct":"$n","arg1":"340282366920938463463374607431768211456","arg2":10}"#,
            ),
            expect("__gmpz_sizeinbase", r#"{"__mpz_struct":"$n","arg1":2}"#, ("result", "129")),
            call("__gmpz_clear", r#"{"__mpz_struct":"$n"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "argon2",
        package: "libargon2-dev",
        headers: &["/usr/include/argon2.h"],
        file: "libargon2.so.1",
        core: "hashes a password",
        story: &[
            keep(
                "argon2i_hash_encoded",
                r#"{"t_cost":2,"m_cost":1024,"parallelism":1,"pwd":"password","salt":"somesalt","hashlen":32}"#,
                ("encoded", "hash"),
            ),
            expect("argon2i_verify", r#"{"encoded":"$hash","pwd":"password"}"#, ("result", "0")),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "xxhash",
        package: "libxxhash-dev",
        headers: &["/usr/include/xxhash.h"],
        file: "libxxhash.so.0",
        core: "hashes",
        story: &[expect("XXH64", r#"{"input":"abc","seed":0}"#, ("result", "4952883123889572249"))],
        ..Library::PLAIN
    },
    Library {
        name: "idn2",
        package: "libidn2-dev",
        headers: &["/usr/include/idn2.h"],
        file: "libidn2.so.0",
        core: "converts names",
        story: &[expect(
            "idn2_to_ascii_8z",
            r#"{"input":"bücher.de","flags":0}"#,
            ("output", r#""xn--bcher-kva.de""#),
        )],
        ..Library::PLAIN
    },
    Library {
        name: "icu",
        package: "libicu-dev",
        headers: &["/usr/include/unicode/ucol.h"],
        file: "libicui18n.so.72",
        core: "compares texts",
        story: &[
            keep("ucol_open_72", r#"{"loc":"en"}"#, ("result", "c")),
            expect(
                "ucol_strcollUTF8_72",
                r#"{"coll":"$c","source":"a","target":"b"}"#,
                ("code", r#""UCOL_LESS""#),
            ),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "curl",
        package: "libcurl4-openssl-dev",
        headers: &["/usr/include/x86_64-linux-gnu/curl/curl.h"],
        file: "libcurl.so.4",
        open: true,
        core: "fetches a file",
        story: &[
            keep("curl_easy_init", "{}", ("result", "c")),
            call(
                "curl_easy_setopt_text",
                r#"{"curl":"$c","option":"CURLOPT_URL","value":"file:///usr/include/x86_64-linux-gnu/curl/stdcheaders.h"}"#,
            ),
            call("curl_easy_setopt_write", r#"{"curl":"$c"}"#),
            call("curl_easy_perform", r#"{"curl":"$c"}"#),
            keep("CURL_collected", r#"{"CURL":"$c"}"#, ("items", "received")),
            call("curl_easy_cleanup", r#"{"curl":"$c"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "gsl",
        package: "libgsl-dev",
        headers: &["/usr/include/gsl/gsl_sf_bessel.h"],
        file: "libgsl.so.27",
        core: "computes",
        story: &[expect("gsl_sf_bessel_J0", r#"{"x":0.0}"#, ("result", "1.0"))],
        ..Library::PLAIN
    },
    Library {
        name: "math",
        package: "libc6-dev",
        headers: &["/usr/include/math.h"],
        file: "libm.so.6",
        core: "computes",
        story: &[expect("pow", r#"{"__x":2,"__y":10}"#, ("result", "1024.0"))],
        ..Library::PLAIN
    },
];
