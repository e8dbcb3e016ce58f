//! More libraries: those that need structures, callbacks, memory that is kept, or an answer.

use super::library::{Library, call, expect, keep};

/// A zip archive with one file.
const ARCHIVE: &str = r#"{"archive":"$a","buff":{"base64":"UEsDBBQAAAAAAAAAIVipMMX+BwAAAAcAAAAHAAAAb25lLnR4dGNvbnRlbnRQSwECFAMUAAAAAAAAACFYqTDF/gcAAAAHAAAABwAAAAAAAAAAAAAAgAEAAAAAb25lLnR4dFBLBQYAAAAAAQABADUAAAAsAAAAAAA="}}"#;

pub(super) const MORE: &[Library] = &[
    Library {
        name: "png",
        package: "libpng-dev",
        headers: &["/usr/include/png.h"],
        file: "libpng16.so.16",
        answers: r#"{"answers":{"png_image_write_to_memory":{"parameters":{
            "buffer":{},"colormap":{"schema":{"const":null}}}}}}"#,
        core: "writes a picture and reads its size",
        story: &[
            keep("png_image_allocate", "{}", ("result", "i")),
            call("png_image_write", r#"{"png_image":"$i","version":1,"width":2,"height":2,"format":0}"#),
            keep(
                "png_image_write_to_memory",
                r#"{"image":"$i","convert_to_8_bit":0,"buffer":"abcd","row_stride":0}"#,
                ("memory", "png"),
            ),
            keep("png_image_allocate", "{}", ("result", "j")),
            call("png_image_write", r#"{"png_image":"$j","version":1}"#),
            expect("png_image_begin_read_from_memory", r#"{"image":"$j","memory":"$png"}"#, ("result", "1")),
            call("png_image_read", r#"{"png_image":"$j"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "yaml",
        package: "libyaml-dev",
        headers: &["/usr/include/yaml.h"],
        file: "libyaml-0.so.2",
        core: "tells the kinds of tokens; their texts are in a union",
        story: &[
            keep("yaml_parser_t_allocate", "{}", ("result", "p")),
            expect("yaml_parser_initialize", r#"{"parser":"$p"}"#, ("result", "1")),
            call("yaml_parser_set_input_string", r#"{"parser":"$p","input":"a: [1, two]"}"#),
            keep("yaml_token_t_allocate", "{}", ("result", "t")),
            expect("yaml_parser_scan", r#"{"parser":"$p","token":"$t"}"#, ("result", "1")),
            call("yaml_token_t_read", r#"{"yaml_token_t":"$t"}"#),
            call("yaml_parser_delete", r#"{"parser":"$p"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "archive",
        package: "libarchive-dev",
        headers: &["/usr/include/archive.h", "/usr/include/archive_entry.h"],
        file: "libarchive.so.13",
        core: "lists an archive and reads a file of it",
        story: &[
            keep("archive_read_new", "{}", ("result", "a")),
            call("archive_read_support_format_all", r#"{"archive":"$a"}"#),
            call("archive_read_support_filter_all", r#"{"archive":"$a"}"#),
            call("archive_read_open_memory", ARCHIVE),
            keep("archive_read_next_header", r#"{"archive":"$a"}"#, ("arg1", "e")),
            expect("archive_entry_pathname", r#"{"archive_entry":"$e"}"#, ("result", r#""one.txt""#)),
            expect("archive_read_data", r#"{"archive":"$a"}"#, ("arg1", r#""content""#)),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "lzma",
        package: "liblzma-dev",
        headers: &["/usr/include/lzma.h"],
        file: "liblzma.so.5",
        answers: r#"{"answers":{"lzma_stream_buffer_decode":{"parameters":{
            "memlimit":{"isIn":true,"schema":{"const":18446744073709551615}}}}}}"#,
        core: "compresses and gives back",
        story: &[
            keep(
                "lzma_easy_buffer_encode",
                r#"{"preset":6,"check":"LZMA_CHECK_CRC32","in":"hello hello hello"}"#,
                ("out", "packed"),
            ),
            expect(
                "lzma_stream_buffer_decode",
                r#"{"flags":0,"in":"$packed"}"#,
                ("out", r#""hello hello hello""#),
            ),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "mpfr",
        package: "libmpfr-dev",
        headers: &["/usr/include/mpfr.h"],
        file: "libmpfr.so.6",
        core: "computes with many digits",
        story: &[
            keep("__mpfr_struct_allocate", "{}", ("result", "x")),
            call("mpfr_init2", r#"{"__mpfr_struct":"$x","arg1":200}"#),
            call("mpfr_set_d", r#"{"__mpfr_struct":"$x","arg1":16.0,"arg2":"MPFR_RNDN"}"#),
            call("mpfr_sqrt", r#"{"__mpfr_struct":"$x","__mpfr_struct2":"$x","arg2":"MPFR_RNDN"}"#),
            expect("mpfr_get_d", r#"{"__mpfr_struct":"$x","arg1":"MPFR_RNDN"}"#, ("result", "4.0")),
            call("mpfr_clear", r#"{"__mpfr_struct":"$x"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "onig",
        package: "libonig-dev",
        headers: &["/usr/include/oniguruma.h"],
        file: "libonig.so.5",
        core: "compiles a pattern and finds it",
        story: &[
            keep("OnigEncodingUTF8", "{}", ("value", "utf8")),
            keep("OnigSyntaxRuby", "{}", ("value", "ruby")),
            keep(
                "onig_new",
                r#"{"pattern":"b+c","option":0,"enc":"$utf8","syntax":"$ruby","einfo":null}"#,
                ("arg0", "r"),
            ),
            expect(
                "onig_search",
                r#"{"OnigRegexType":"$r","str":"xabbc","region":null,"option":0}"#,
                ("result", "2"),
            ),
            call("onig_free", r#"{"OnigRegexType":"$r"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "hunspell",
        package: "libhunspell-dev hunspell-en-us",
        headers: &["/usr/include/hunspell/hunspell.h", "/usr/share/hunspell/en_US.aff"],
        file: "libhunspell-1.7.so.0",
        open: true,
        core: "checks a word and suggests others",
        story: &[
            keep(
                "Hunspell_create",
                r#"{"affpath":"/usr/share/hunspell/en_US.aff","dpath":"/usr/share/hunspell/en_US.dic"}"#,
                ("result", "h"),
            ),
            expect("Hunspell_spell", r#"{"pHunspell":"$h","arg1":"helo"}"#, ("result", "0")),
            keep("Hunspell_suggest", r#"{"pHunspell":"$h","word":"helo"}"#, ("slst", "words")),
            call("Hunspell_destroy", r#"{"pHunspell":"$h"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "sndfile",
        package: "libsndfile1-dev",
        headers: &["/usr/include/sndfile.h"],
        file: "libsndfile.so.1",
        open: true,
        core: "writes sound and reads it",
        story: &[
            keep(
                "sf_open",
                r#"{"path":"$folder/sound.wav","mode":32,"sfinfo":{"samplerate":8000,"channels":1,"format":65538}}"#,
                ("result", "w"),
            ),
            expect("sf_write_double", r#"{"sndfile":"$w","ptr":[0.0,0.5,-0.5]}"#, ("result", "3")),
            call("sf_close", r#"{"sndfile":"$w"}"#),
            keep("sf_open", r#"{"path":"$folder/sound.wav","mode":16}"#, ("result", "r")),
            expect("sf_read_double", r#"{"sndfile":"$r","items":3}"#, ("ptr", "[0.0,0.5,-0.5]")),
            call("sf_close", r#"{"sndfile":"$r"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "gd",
        package: "libgd-dev",
        headers: &["/usr/include/gd.h"],
        file: "libgd.so.3",
        core: "draws and gives a picture",
        story: &[
            keep("gdImageCreate", r#"{"sx":8,"sy":8}"#, ("result", "i")),
            expect("gdImageColorAllocate", r#"{"im":"$i","r":255,"g":0,"b":0}"#, ("result", "0")),
            call("gdImageLine", r#"{"im":"$i","x1":0,"y1":0,"x2":7,"y2":7,"color":0}"#),
            keep("gdImagePngPtr", r#"{"im":"$i"}"#, ("result", "png")),
            call("gdImageDestroy", r#"{"im":"$i"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "proj",
        package: "libproj-dev",
        headers: &["/usr/include/proj.h"],
        file: "libproj.so.25",
        open: true,
        core: "converts coordinates",
        story: &[
            keep("proj_context_create", "{}", ("result", "c")),
            keep(
                "proj_create",
                r#"{"ctx":"$c","definition":"+proj=utm +zone=32 +ellps=GRS80"}"#,
                ("result", "p"),
            ),
            call("proj_trans", r#"{"P":"$p","direction":"PJ_FWD","coord":{"lp":{"lam":0.2,"phi":0.9}}}"#),
            call("proj_destroy", r#"{"P":"$p"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "cdio",
        package: "libcdio-dev",
        headers: &["/usr/include/cdio/cdio.h"],
        file: "libcdio.so.19",
        core: "converts places on a disc",
        story: &[
            expect("cdio_lsn_to_lba", r#"{"i_lsn":100}"#, ("result", "250")),
            expect("cdio_lba_to_msf_str", r#"{"i_lba":150}"#, ("result", r#""00:02:00""#)),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "exif",
        package: "libexif-dev",
        headers: &["/usr/include/libexif/exif-data.h", "/usr/include/libexif/exif-tag.h"],
        file: "libexif.so.12",
        core: "knows tags",
        story: &[
            expect("exif_tag_from_name", r#"{"name":"Make"}"#, ("result", "271")),
            expect("exif_tag_get_name", r#"{"tag":271}"#, ("result", r#""Make""#)),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "unistring",
        package: "libunistring-dev",
        headers: &["/usr/include/unistr.h", "/usr/include/unicase.h"],
        file: "libunistring.so.2",
        core: "counts and changes letters",
        story: &[
            expect("u8_mbsnlen", r#"{"s":"h\u00e9"}"#, ("result", "2")),
            expect(
                "u8_toupper",
                r#"{"s":"h\u00e9","iso639_language":null,"nf":null}"#,
                ("result", r#""H\u00c9""#),
            ),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "expat",
        package: "libexpat1-dev",
        headers: &["/usr/include/expat.h"],
        file: "libexpat.so.1",
        core: "tells elements and text",
        story: &[
            keep("XML_ParserCreate", r#"{"encoding":null}"#, ("result", "p")),
            call("XML_SetElementHandler", r#"{"parser":"$p"}"#),
            call("XML_SetCharacterDataHandler", r#"{"parser":"$p"}"#),
            call("XML_Parse", r#"{"parser":"$p","s":"<a k='v'>x</a>","isFinal":1}"#),
            expect(
                "XML_ParserStruct_collected",
                r#"{"XML_ParserStruct":"$p"}"#,
                (
                    "items",
                    r#"[{"callback":"start","name":"a","atts":["k","v"]},{"callback":"handler","s":"x"},{"callback":"end","name":"a"}]"#,
                ),
            ),
            call("XML_ParserFree", r#"{"parser":"$p"}"#),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "zip",
        package: "libzip-dev",
        headers: &["/usr/include/zip.h"],
        file: "libzip.so.4",
        open: true,
        core: "writes an archive and lists it",
        story: &[
            keep("zip_open", r#"{"arg0":"$folder/new.zip","arg1":9}"#, ("result", "w")),
            keep("zip_source_buffer", r#"{"zip_t":"$w","arg1":"content","arg3":0}"#, ("result", "s")),
            call("zip_file_add", r#"{"zip_t":"$w","arg1":"one.txt","zip_source_t":"$s","arg3":0}"#),
            call("zip_close", r#"{"zip_t":"$w"}"#),
            keep("zip_open", r#"{"arg0":"$folder/new.zip","arg1":0}"#, ("result", "r")),
            expect("zip_get_num_entries", r#"{"zip_t":"$r","arg1":0}"#, ("result", "1")),
            expect("zip_get_name", r#"{"zip_t":"$r","arg1":0,"arg2":0}"#, ("result", r#""one.txt""#)),
        ],
        ..Library::PLAIN
    },
    Library {
        name: "libc",
        package: "libc6-dev",
        headers: &["/usr/include/string.h", "/usr/include/stdlib.h", "/usr/include/time.h"],
        file: "libc.so.6",
        core: "texts and dates",
        story: &[
            expect("strlen", r#"{"__s":"four"}"#, ("result", "4")),
            expect("strftime", r#"{"__format":"%Y","__tp":{"tm_year":124}}"#, ("__s", r#""2024""#)),
            expect("div", r#"{"__numer":17,"__denom":5}"#, ("result", r#"{"quot":3,"rem":2}"#)),
        ],
        ..Library::PLAIN
    },
];
