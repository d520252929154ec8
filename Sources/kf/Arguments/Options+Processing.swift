import KFCore

/// Processors, formats, and the limits of decoding.
extension Options {
    static let processing: [OptionSpec] = [
        variant.spec, process.spec, format.spec, quality.spec, speed.spec, background.spec, firstFrame.spec,
        srgb.spec, keepMetadata.spec, maxPixels.spec, maxMemory.spec, maxProcessTime.spec, scale.spec, scaleDown.spec,
    ]

    static let variant = Option(
        each: OptionSpec(
            "variant", .processing, value: "NAME=CHAIN", repeatable: true,
            help: "Make an image named NAME with the processors of -p and then CHAIN, which may end in encode:FORMAT"),
        ValueReader<VariantText> { (given) throws(UsageError) in try VariantText(given) })
    static let process = Option<String?>(
        OptionSpec(
            "process", short: "p", .processing, value: "SPEC", repeatable: true,
            help: "Apply a processor, such as resize:320x240,fit; several run in order ('kf help processors')"),
        absent: nil
    ) { (given) throws(UsageError) in
        guard !given.texts.contains("") else { throw given.problem("needs a processor, such as resize:320x240") }
        return given.texts.joined(separator: "|>")
    }
    private static let formatWords = { @Sendable in
        ["keep"] + ImageFormat.allCases.filter(\.isEncodable).map(\.rawValue)
    }
    static let format = Option<[ImageFormat?]>(
        each: OptionSpec(
            "format", short: "f", .processing, value: ValueKind(words: formatWords), repeatable: true,
            byDefault: "keep", help: "Format to write; several -f write a file each. -o NAME.webp is -f webp as well"),
        .choice(formatWords) { $0 == "keep" ? .some(nil) : ImageFormat(rawValue: $0) })
    static let quality = Option<Int?>(
        OptionSpec(
            "quality", .processing, value: "N", byDefault: "85",
            help: "Quality of a JPEG, WebP or AVIF that is written, 1 to 100; of an AVIF 60 unless given"),
        .integer(in: 1...100))
    static let speed = Option<Int?>(
        OptionSpec(
            "speed", .processing, value: "N", byDefault: "6",
            help: "Speed of writing an AVIF, from 0 (slow, small) to 10 (fast)"),
        .integer(in: 0...10))
    static let background = Option<Color?>(
        OptionSpec(
            "background", .processing, value: "COLOUR",
            help: "Colour behind transparent pixels in a JPEG: #rgb or #rrggbb"),
        ValueReader("a colour such as #fff or #336699") { text in
            Color(text).flatMap { $0.alpha == 255 ? $0 : nil }
        })
    static let firstFrame = Option(
        flag: OptionSpec("first-frame", .processing, help: "Use only the first frame of an animation"))
    static let srgb = Option(
        flag: OptionSpec(
            "srgb", .processing, help: "Convert to sRGB; without this option the colour profile is kept in the file"))
    static let keepMetadata = Option(
        flag: OptionSpec("keep-metadata", .processing, help: "Keep EXIF and XMP when a format is written"))
    static let maxPixels = Option<Int?>(
        OptionSpec(
            "max-pixels", .processing, value: "N", byDefault: "100000000", help: "Refuse images with more pixels"),
        .integer(in: 1...Int.max))
    static let maxMemory = Option<Int64?>(
        OptionSpec(
            "max-memory", .processing, value: "BYTES", byDefault: "1G",
            help: "Refuse images that need more memory; 0 is no limit"),
        .size)
    static let maxProcessTime = Option<Duration?>(
        OptionSpec(
            "max-process-time", .processing, value: "TIME", byDefault: "30s",
            help: "Refuse images that need more processor time; 0 is no limit"),
        .duration)
    static let scale = Option<Double?>(
        OptionSpec(
            "scale", .processing, value: "N", byDefault: "1",
            help: "Factor for the sizes that processors are given, such as 2 for a high-density screen"),
        .number(in: 0.01...100))
    static let scaleDown = Option<Int64?>(
        OptionSpec(
            "scale-down", .processing, value: "BYTES",
            help: "Decode an image at a smaller size when its pixels would need more memory than this"),
        .size)
}

/// The name of a variant, and the chain that follows the processors of `-p`.
struct VariantText: Sendable {
    let name: String
    let chain: String

    init(_ given: Given) throws(UsageError) {
        let parts = given.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard parts.count == 2, !parts[1].isEmpty, OutputName.isSafe(name) else {
            throw given.wrong(
                "NAME=CHAIN, such as small=resize:320x, with letters, digits, - and _ in the name")
        }
        self.name = name
        chain = String(parts[1])
    }
}
