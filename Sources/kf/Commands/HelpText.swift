/// Help, generated from the commands' tables.
enum HelpText {
    static let version = "kf 0.1.0"
    /// The date of that version.
    static let date = "2026-11-21"

    static func overview(_ commands: [CommandSpec]) -> String {
        let others = [("help", "Explain a command, as in 'kf help fetch', or 'processors'")]
        return """
            kf fetches images, keeps them in a disk cache, and writes processed copies.

            Usage: kf COMMAND [OPTION]... [ARGUMENT]...

            \(lines(commands.map { ($0.name, $0.summary) } + others))

            A source is an http or https URL, a path or file: URL, a data: URI, or - for
            standard input. Exit status: 0 success, 1 some items failed, 2 wrong usage,
            3 the cache failed, 4 stopped early.
            """
    }

    /// Help for the commands that share their first word.
    static func text(for family: [CommandSpec]) -> String {
        let word = family.first?.words.first ?? ""
        return """
            Usage: kf \(word) COMMAND [OPTION]... [ARGUMENT]...

            \(lines(family.map { ($0.name, $0.summary) }))

            'kf help \(family.first?.name ?? word)' explains one of them.
            """
    }

    /// Long help (`--help`): everything.
    static func text(for command: CommandSpec) -> String {
        var parts = TextColumns.wrapped(command.summary + ".") + ["", usage(command)]
        for paragraph in command.details { parts += [""] + TextColumns.wrapped(paragraph) }
        for group in groups(command) {
            parts += ["", "\(group.rawValue):"] + options(command.options.filter { $0.group == group })
        }
        parts += ["", "Every switch has a --no- form. Options can also be set in the environment"]
        parts += ["(--cache-dir as KF_CACHE_DIR) and in the config file; see 'kf help config'."]
        parts += ["", "Examples:"] + command.examples.map { "  \($0)" }
        return parts.joined(separator: "\n")
    }

    /// Short help (`-h`): the most used options, on one screen.
    static func brief(_ command: CommandSpec) -> String {
        let (all, shown) = (command.options, command.essential)
        let head = TextColumns.wrapped(command.summary + ".") + [usage(command), ""]
        let rest = all.count - shown.count
        guard !shown.isEmpty, rest > 0 else { return (head + options(all)).joined(separator: "\n") }
        let more = "\(rest) more options and examples: kf help \(command.name)"
        return (head + options(shown) + ["", more]).joined(separator: "\n")
    }

    /// The headings, in the order in which they first appear in the table.
    private static func groups(_ command: CommandSpec) -> [OptionSpec.Group] {
        command.options.reduce(into: []) { if !$0.contains($1.group) { $0.append($1.group) } }
    }

    private static func usage(_ command: CommandSpec) -> String {
        "Usage: kf \(command.name) [OPTION]..." + (command.operands.map { " \($0)" } ?? "")
    }

    private static func options(_ options: [OptionSpec]) -> [String] {
        TextColumns.rows(
            options.map { option in
                let left =
                    (option.short.map { "-\($0), " } ?? "    ") + "--\(option.name)"
                    + (option.value.map { " \($0.placeholder)" } ?? "")
                return (left, option.help + (option.byDefault.map { " (default \($0))" } ?? ""))
            }, leftWidth: 28)
    }

    private static func lines(_ rows: [(left: String, right: String)]) -> String {
        let width = rows.map(\.left.count).max() ?? 0
        return TextColumns.rows(rows, leftWidth: width + 2).joined(separator: "\n")
    }
}

/// The processors that `-p` accepts.
enum ProcessorHelp {
    static let text = """
        A processor is NAME:ARGUMENTS. Repeat -p, or join processors with |>, to apply
        several in order. Colours are #rgb, #rrggbb or #rrggbbaa; sizes are in pixels.

        \(TextColumns.rows(rows, leftWidth: 30).joined(separator: "\n"))

        Example: kf fetch cat.jpg -p 'crop:200x200|>round-corner:20' -o cat.png
        """

    static let rows: [(left: String, right: String)] = [
        (
            "resize:WxH[,none|fit|fill]",
            "Scale to the size, fit into it or fill it (default none: stretch); Wx and xH keep the aspect ratio"
        ),
        ("downsample:WxH", "Shrink until the longest side is the longer of W and H; never enlarges"),
        ("crop:WxH[,anchor=AXxAY]", "Cut out a rectangle at the anchor: 0.5x0.5, or a name such as center or top-left"),
        ("pad:WxH,COLOUR", "Centre the image on a canvas of this size and colour"),
        ("rotate:90|180|270", "Rotate clockwise by this many degrees"),
        ("flip:h|v", "Mirror horizontally (h) or vertically (v)"),
        ("blur:RADIUS", "Blur, close to a Gaussian (three box blurs)"),
        ("sharpen:SIGMA", "Sharpen with an unsharp mask"),
        (
            "round-corner:R[,corners=tl+tr+bl+br][,size=WxH][,background=COLOUR]",
            "Round the corners; R in pixels, or relative to the side: 0.25w, 0.5h"
        ),
        ("border:WIDTH[,COLOUR][,radius=R][,corners=...]", "Draw a border inside the edge"),
        (
            "overlay:COLOUR[,fraction=0.5]",
            "Lay a colour over the image; fraction is the share of the image that remains"
        ),
        ("tint:COLOUR", "Tint the image with a colour, by the colour's opacity"),
        (
            "color:[brightness=0][,contrast=1][,saturation=1][,ev=0]",
            "Change brightness, contrast, saturation and exposure (ev)"
        ),
        ("black-white", "Remove the saturation and brighten slightly"),
        ("grayscale", "Remove the saturation"),
        (
            "blend:MODE[,alpha=1][,background=COLOUR]",
            "Blend the image onto the background colour. Modes: normal, multiply, screen, overlay, darken, lighten, "
                + "color-dodge, color-burn, soft-light, hard-light, difference, exclusion, hue, saturation, color, "
                + "luminosity, clear, copy, source-in, source-out, source-atop, destination-over, destination-in, "
                + "destination-out, destination-atop, xor, plus-darker, plus-lighter"
        ),
    ]
}
