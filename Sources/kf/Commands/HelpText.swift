/// Help, made from the commands' tables.
enum HelpText {
    static let version = "kf 0.1.0"

    static var overview: String {
        let width = CommandTable.all.map(\.name.count).max() ?? 0
        let commands = lines(for: CommandTable.all)
        return """
            kf fetches images, keeps them in a cache on the disk, and writes processed copies.

            Usage: kf COMMAND [OPTION]... [ARGUMENT]...

            \(commands.joined(separator: "\n"))
              \(pad("help", to: width + 2))Explain a command: kf help fetch; or the processors: kf help processors

            A source is an http or https URL, a path or file: URL, a data: URI, or - for standard input.
            Exit status: 0 all done, 1 some items failed, 2 wrong usage, 3 the cache failed.
            """
    }

    /// What `-p` understands.
    static let processors = """
        A processor is NAME:ARGUMENTS; give several -p, or join them with |>. Colours are #rgb, #rrggbb or #rrggbbaa.

          resize:WxH[,none|fit|fill]    Stretch to, fit into or fill the size; Wx and xH keep the aspect
          downsample:WxH                Make smaller until the longest side is the longer of the two; never larger
          crop:WxH[,anchor=AXxAY]       Cut out; the anchor is 0.5x0.5, or a name such as center, top-left
          pad:WxH,COLOUR                Put centred on a canvas of that size
          rotate:90|180|270             Clockwise
          flip:h|v
          blur:RADIUS                   Three box blurs, which come close to a Gaussian
          sharpen:SIGMA                 Unsharp mask
          round-corner:R[,corners=tl+tr+bl+br][,size=WxH][,background=COLOUR]
                                        R in pixels, or 0.25w, 0.5h
          border:WIDTH[,COLOUR][,radius=R][,corners=...]
                                        Inside the edge
          overlay:COLOUR[,fraction=0.5] The colour over the image; fraction of the image stays
          tint:COLOUR                   As much of the colour as it is opaque
          color:[brightness=0][,contrast=1][,saturation=1][,ev=0]
          black-white, grayscale
          blend:MODE[,alpha=1][,background=COLOUR]
                                        The image onto the background; normal, multiply, screen, overlay, darken,
                                        lighten, color-dodge, color-burn, soft-light, hard-light, difference,
                                        exclusion, hue, saturation, color, luminosity, clear, copy, source-in,
                                        source-out, source-atop, destination-over, destination-in, destination-out,
                                        destination-atop, xor, plus-darker, plus-lighter
        """

    static func text(for family: [CommandSpec]) -> String {
        "Usage: kf COMMAND [OPTION]... [ARGUMENT]...\n\n" + lines(for: family).joined(separator: "\n")
    }

    private static func lines(for commands: [CommandSpec]) -> [String] {
        let width = CommandTable.all.map(\.name.count).max() ?? 0
        return commands.map { "  " + pad($0.name, to: width + 2) + $0.summary }
    }

    static func text(for command: CommandSpec) -> String {
        let operands = command.operands.map { " \($0)" } ?? ""
        let left = command.options.map { option in
            (option.short.map { "-\($0), " } ?? "    ") + "--\(option.long)"
                + (option.value.map { " \($0.placeholder)" } ?? "")
        }
        let width = (left.map(\.count).max() ?? 0) + 2
        let options = zip(left, command.options).map {
            "  " + pad($0, to: width) + $1.help + ($1.byDefault.map { " (default \($0))" } ?? "")
        }
        return """
            \(command.summary).

            Usage: kf \(command.name) [OPTION]...\(operands)

            \(options.joined(separator: "\n"))

            Options may stand in the environment too, --cache-dir as KF_CACHE_DIR; -o, --all and --yes may not.

            Examples:
            \(command.examples.map { "  \($0)" }.joined(separator: "\n"))
            """
    }

    private static func pad(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
