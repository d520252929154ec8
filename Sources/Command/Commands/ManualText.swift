/// The parts of the manual page that no table has.
enum ManualText {
    static let description = [
        "kf fetches images, keeps them in a disk cache that any number of processes share, and writes processed copies. "
            + "Only images are accepted.",
        "A source is an http or https URL, a path or file: URL, a data: URI, or - for standard input. An image without "
            + "processors is stored and written byte for byte as it came.",
        "Results go to standard output, everything else to standard error. Results of several sources are printed in "
            + "the order of the sources. A source that begins with a dash must follow --.",
        "After the first SIGINT or SIGTERM prefetch starts nothing new, and finishes the downloads that are running. "
            + "After --grace it cuts them off and keeps what can be resumed; then it has 5 s to write. The second ends the "
            + "process at once. fetch ends within a second of the first, whatever the number of its sources, and keeps "
            + "partial downloads for the next run. When the reader of standard output closes it, kf ends: quietly, unless "
            + "files that it was to write are left, which it counts.",
        "The umask sets the mode of written images. A new report or --failures file is readable by its owner only, since "
            + "URLs may hold secrets. A file that is replaced keeps its mode. Messages, listings and JSON escape control "
            + "characters, direction marks and invisible characters.",
    ]

    static let names = [
        "--name builds the names of copies from text and fields; a slash makes folders.",
        "Of images that would get one name, the first keeps it, and -{hash8} is added to the stem of the others. An "
            + "extension in the template, or of -o, is the format to write unless -f says otherwise; -f keep keeps the "
            + "bytes. A file that would get the same bytes is not written again. The path of each file is printed.",
    ]

    static let processors =
        "A processor is NAME:ARGUMENTS. Several -p run in order, and |> joins processors in one text. They are part of "
        + "the cache key. Colours are #rgb, #rrggbb, #rrggbbaa or CSS names."

    static let formats =
        "The first bytes of a file tell its format. A format that is only recognised is stored and delivered as received. "
        + "'kf help formats' also shows the libraries that are loaded."

    static let json =
        "With --json, standard output is one JSON object per line, each with \"schema\":1. The schema's number changes "
        + "when a field is removed or changes its meaning, not when one is added. Text is UTF-8; bytes of names that are "
        + "not UTF-8 are percent-encoded. Wrong usage prints no JSON. A member that several objects share is explained once."

    static let statuses: KeyValuePairs<String, String> = [
        "0": "Success, also when the reader of standard output closed it early and nothing else was to be written.",
        "1": "Some items failed, damage is left, or nothing was found.",
        "2":
            "Wrong usage, a wrong line in the config file, or a list that is missing. Nothing was done. Also a list that "
            + "could not be read to its end, or has no such column: the rest was done.",
        "3":
            "The cache failed: it cannot be written, opened or trusted. Or what a whole run writes: --output-dir, --shards, "
            + "--results or --failures. Or a remote, if it is required or the command is about it.",
        "4":
            "Stopped early by --deadline, --max-failures, or a reader who closed standard output before all was written.",
        "130, 143": "Ended by SIGINT or SIGTERM.",
    ]

    static let environment: KeyValuePairs<String, String> = [
        "KF_...":
            "The value of an option: KF_CACHE_DIR is --cache-dir. A switch is 1 or 0; an option that may be repeated takes "
            + "one value per line; an empty variable is ignored. The command line beats the variable, and the variable "
            + "beats the config file. Options that choose what is deleted work on the command line only, as do -o and "
            + "--key: for a command that has such an option, its variable is an error.",
        "KF_TRUST_CACHE_DIR":
            "1 accepts a cache directory that belongs to another user, such as a restored CI cache.",
        "KF_PROGRESS_INTERVAL":
            "The time between two lines of progress where standard error is not a terminal (default 30s).",
        "XDG_CACHE_HOME, XDG_CONFIG_HOME, HOME": "The places of the cache and the config file; see FILES.",
        "http_proxy, https_proxy, all_proxy, no_proxy": "Proxies, as curl reads them.",
        "TRACEPARENT": "The trace of the caller (W3C Trace Context), sent with requests to origins.",
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN":
            "The key for --remote s3://BUCKET. Without it, requests are not signed.",
        "AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL":
            "The region of an s3: remote whose URL has none, and another server than Amazon's.",
        "NO_COLOR, CLICOLOR_FORCE, TERM":
            "Without --color, NO_COLOR turns colours off and CLICOLOR_FORCE=1 turns them on. Otherwise messages have "
            + "colours on a terminal, unless TERM is dumb.",
    ]

    static let files: KeyValuePairs<String, String> = [
        "$KF_CACHE_DIR, $XDG_CACHE_HOME/kf, ~/.cache/kf":
            "The cache: v1/objects holds the images as plain read-only files, v1/index.sqlite their index. The directory "
            + "can be deleted, copied and restored as a whole.",
        "$XDG_CONFIG_HOME/kf/config, ~/.config/kf/config":
            "One long option per line, used by every command that has it: 'jobs = 8', 'jobs 8', or 'quiet' for a switch. "
            + "A value may be in double quotes, and # begins a comment. 'kf config' shows the values in effect.",
    ]
}
