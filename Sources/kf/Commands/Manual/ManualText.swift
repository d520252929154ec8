/// What the tables cannot say.
enum ManualText {
    static let description = [
        "kf fetches images, keeps them in a cache on the disk that any number of processes share, and writes processed "
            + "copies. What is no image is refused.",
        "A source is an http or https URL, a path or file: URL, a data: URI, or - for standard input. An image that "
            + "nothing is done to is stored and written byte for byte as it came.",
        "Results go to standard output, everything else to standard error. With several sources the results come in "
            + "the order of the sources. A source that begins with a dash stands behind --.",
        "The first SIGINT or SIGTERM starts nothing new, lets what is on its way end, and keeps it; the second ends at "
            + "once. A reader of standard output that leaves ends kf quietly.",
        "Images are written with the mode that the umask gives. A new report or --failures file is readable by its "
            + "owner alone, since URLs may hold secrets. A file that is replaced keeps its mode. Messages, listings and "
            + "JSON escape control characters, marks of direction and invisible characters.",
    ]

    static let processors =
        "A processor is NAME:ARGUMENTS. Several -p are done in order, and |> joins them in one text. They are part of "
        + "the cache key. Colours are #rgb, #rrggbb or #rrggbbaa."

    static let json =
        "With --json, standard output is one JSON object a line, each with \"schema\":1. The schema's number changes "
        + "when a field goes or means something else, not when one is added. Text is UTF-8; bytes of names that are "
        + "not are percent-encoded. Wrong usage prints no JSON."

    static let statuses: [(left: String, right: String)] = [
        ("0", "All done. So it is when the reader of standard output has left early."),
        ("1", "Some items failed, or rm found nothing."),
        ("2", "Wrong usage, or a wrong line in the config file. Nothing was done."),
        ("3", "The cache failed: it cannot be written, opened or trusted."),
        ("4", "Stopped early by --deadline or --max-failures."),
        ("130, 143", "Ended by SIGINT, SIGTERM."),
    ]

    static let environment: [(left: String, right: String)] = [
        (
            "KF_...",
            "An option's value: --cache-dir is KF_CACHE_DIR. A switch is 1 or 0; an option that may be repeated takes "
                + "one value a line; an empty variable says nothing. A flag beats the variable, the variable beats the "
                + "config file. Options that choose what is deleted are for the command line alone, as are -o and "
                + "--key: for a command that has such an option, its variable is an error."
        ),
        (
            "KF_TRUST_CACHE_DIR",
            "1 accepts a cache directory that belongs to another user, as a restored CI cache does."
        ),
        ("XDG_CACHE_HOME, XDG_CONFIG_HOME, HOME", "Where the cache and the config file are; see FILES."),
        ("http_proxy, https_proxy, all_proxy, no_proxy", "As curl reads them."),
        (
            "NO_COLOR, CLICOLOR_FORCE, TERM",
            "Without --color: NO_COLOR turns colours off, CLICOLOR_FORCE=1 on; else they are on where the stream is a "
                + "terminal that is not dumb."
        ),
    ]

    static let files: [(left: String, right: String)] = [
        (
            "$KF_CACHE_DIR, $XDG_CACHE_HOME/kf, ~/.cache/kf",
            "The cache: v1/objects has the images as plain read-only files, v1/index.sqlite what is known of them. It "
                + "can be deleted, copied and restored as a whole."
        ),
        (
            "$XDG_CONFIG_HOME/kf/config, ~/.config/kf/config",
            "One long option a line for every command that has it: 'jobs = 8', 'jobs 8', or 'quiet' for a switch. A "
                + "value may stand in double quotes, and # begins a comment. 'kf config' shows what holds."
        ),
    ]
}
