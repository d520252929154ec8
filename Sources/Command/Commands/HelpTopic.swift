import KFCore

/// A topic of `kf help` that is not a command.
enum HelpTopic: String, CaseIterable {
    case processors, encode, formats, names, json, exit, environment

    /// The explanation in the completion of a shell.
    var summary: String {
        switch self {
        case .processors: "Explain -p"
        case .encode: "Explain encode:FORMAT"
        case .formats: "List the image formats"
        case .names: "Explain --name"
        case .json: "Explain --json"
        case .exit: "List the exit statuses"
        case .environment: "List the variables"
        }
    }

    var text: String {
        switch self {
        case .processors:
            Self.page(
                "A processor is NAME:ARGUMENTS. Repeat -p, or join processors with |>, to apply several in order. Colours are "
                    + "#rgb, #rrggbb, #rrggbbaa or CSS names; sizes are in pixels.",
                Self.processorRows, leftWidth: 30,
                "A chain may end in encode:FORMAT, with a format of -f and options ('kf help encode'): "
                    + "'resize:320x|>encode:webp,quality=80'.",
                "Example: kf fetch cat.jpg -p 'crop:200x200|>round-corner:20' -o cat.png")
        case .encode:
            Self.page(
                "encode:FORMAT[,OPTION]... ends a chain of -p or --variant. FORMAT is one of -f, or keep for that of the "
                    + "source. Options that are left out are those of the command line.",
                Self.encodingRows, leftWidth: 28,
                "Example: kf fetch cat.png -p 'resize:50%|>encode:webp,lossless=1' -o cat.webp")
        case .formats: FormatHelp.text
        case .names: Self.page(ManualText.names[0], Self.nameRows, leftWidth: 24, ManualText.names[1])
        case .json:
            Self.page(ManualText.json, [], leftWidth: 0, "'kf man' lists the members of every command's objects.")
        case .exit: Self.page(nil, ManualText.statuses.map { ($0.key, $0.value) }, leftWidth: 10)
        case .environment: Self.page(nil, ManualText.environment.map { ($0.key, $0.value) }, leftWidth: 24)
        }
    }

    private static func page(
        _ start: String?, _ rows: [(left: String, right: String)], leftWidth: Int, _ end: String...
    ) -> String {
        let parts = [start.map { TextColumns.wrapped($0) } ?? [], TextColumns.rows(rows, leftWidth: leftWidth)]
        return (parts + end.map { TextColumns.wrapped($0) }).filter { !$0.isEmpty }
            .map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    static var processorRows: [(left: String, right: String)] {
        ProcessorSyntax.all.map { ($0.usage, $0.documentation) }
    }

    static let encodingRows: [(left: String, right: String)] = [
        ("quality=N", "Quality of a JPEG, WebP (default 85) or AVIF (60), 1 to 100"),
        ("qualities=webp:80+jpeg:85", "Of keep: a quality for each format"),
        ("lossless=1", "Keep every pixel of a WebP or AVIF"),
        ("effort=N", "Effort for a WebP, 0 (fast) to 6 (small); default 4"),
        ("speed=N", "Speed of writing an AVIF, 0 (slow, small) to 10 (fast); default 6"),
        ("level=N", "Compression of a PNG, 0 to 9; default 6"),
        ("progressive=1", "Write a progressive JPEG"),
        ("chroma=4:4:4", "Keep the full resolution of the colours of a JPEG or AVIF; default 4:2:0"),
        ("background=COLOUR", "Colour behind transparent pixels in a JPEG"),
        ("srgb=1", "Convert to sRGB"), ("metadata=1", "Keep EXIF and XMP"),
        ("strip=1", "Remove the metadata of a file that is only copied"),
        ("transparent=png", "Write PNG where the picture is transparent and FORMAT is JPEG"),
        ("undecoded=copy", "Keep files that kf does not decode as they are"),
    ]

    static let nameRows: [(left: String, right: String)] = [
        ("{stem}, {name}", "The name at the source, without and with its extension"),
        ("{ext}, {format}", "The format that is written: jpg, jpeg"),
        ("{dir}, {path}", "The folders of the URL's path, or below the given folder; the same with {name}"),
        ("{host}", "The host and port; local without one"),
        ("{index}, {index:04}", "The number of the source in the run"),
        ("{id}, {column:NAME}", "A column of the list"),
        ("{variant}", "The variant's name"), ("{width}, {height}", "The size in pixels"),
        ("{sha256}", "The SHA-256 of the bytes"),
        ("{hash}, {hash8}", "The SHA-256 of content and processing, or its first digits"),
    ]
}
