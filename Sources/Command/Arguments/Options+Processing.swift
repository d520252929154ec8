import KFCore

/// Processors, formats, and the limits of decoding.
extension Options {
    static let processing: [OptionSpec] = [
        variant.spec, widths.spec, process.spec, format.spec, quality.spec, speed.spec, background.spec, undecoded.spec,
        firstFrame.spec,
        srgb.spec, keepMetadata.spec, stripMetadata.spec, lenient.spec, decoders.spec, maxPixels.spec, maxMemory.spec,
        maxProcessTime.spec,
        scaleDown.spec,
    ]

    static let variant = Option(
        "variant", .processing, value: "NAME=CHAIN",
        .each(ValueReader<VariantText> { (given) throws(UsageError) in try VariantText(given) }),
        secret: .userInfoInChain,
        help: "Make an image named NAME with the processors of -p and then CHAIN, which may end in encode:FORMAT")
    static let widths = Option<[VariantText]>(
        "widths", .processing, value: "N,...",
        OptionForm(absent: []) { (given) throws(UsageError) in
            let widths = given.text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
            guard widths.allSatisfy({ (1...Int(SizeSpec.maximum)).contains($0) }) else {
                throw given.wrong("widths in pixels, such as 320,640,1280")
            }
            return Set(widths).sorted().map(VariantText.init(width:))
        },
        excludes: [variant.name],
        help: "Make an image of each width, none wider than its source: after -p, resize:Nx,shrink")
    static let process = Option<String?>(
        "process", short: "p", .processing, value: "SPEC",
        OptionForm(absent: nil, isRepeatable: true) { (given) throws(UsageError) in
            guard !given.texts.contains("") else { throw given.problem("needs a processor, such as resize:320x240") }
            return given.texts.joined(separator: "|>")
        },
        secret: .userInfoInChain,
        help: "Apply a processor, such as resize:320x240,fit; several run in order ('kf help processors')")
    private static let formatWords = { @Sendable in
        ["keep"] + ImageFormat.allCases.filter(\.isEncodable).map(\.rawValue)
    }
    static let format = Option<[ImageFormat?]>(
        "format", short: "f", .processing, value: ValueKind(words: formatWords),
        .each(.choice(formatWords) { $0 == "keep" ? .some(nil) : ImageFormat(rawValue: $0) }),
        byDefault: "keep", help: "Format to write; several -f write a file each. -o NAME.webp is -f webp as well")
    static let quality = Option<QualityChoice>(
        "quality", .processing, value: "N|FORMAT=N,...",
        OptionForm(absent: QualityChoice()) { (given) throws(UsageError) in
            var choice = QualityChoice()
            for part in given.text.split(separator: ",", omittingEmptySubsequences: false) {
                if let number = Int(part), (1...100).contains(number), choice.every == nil {
                    choice.every = number
                } else if let (format, number) = EncodeOptions.ownQuality(part, "=") {
                    choice.own[format] = number
                } else {
                    throw given.wrong("a number from 1 to 100, or such as webp=80,jpeg=85")
                }
            }
            return choice
        },
        byDefault: "85,avif=60", help: "Quality of a JPEG, WebP or AVIF that is written, 1 to 100")
    static let speed = Option<Int?>(
        "speed", .processing, value: "N", .one(.integer(in: 0...10)), byDefault: "6",
        help: "Speed of writing an AVIF, from 0 (slow, small) to 10 (fast)")
    static let background = Option<Color?>(
        "background", .processing, value: "COLOUR",
        .one("a colour such as #fff, #336699 or white") { text in
            Color(text).flatMap { $0.alpha == 255 ? $0 : nil }
        },
        help: "Colour behind transparent pixels in a JPEG: #rgb, #rrggbb or a CSS name")
    /// Whether an image that kf cannot decode, and that a processor or a format is for, is copied. A type of its own would
    /// cost each start of the program its metadata.
    static let undecoded = Option<Bool>(
        "undecoded", .processing,
        .choice({ ["fail", "copy"] }, default: "fail", false) { ["fail": false, "copy": true][$0] },
        help: "Where -p or -f meets a format that is not decoded (SVG): fail, or copy it")
    static let placeholder = Option<ImagePlaceholder?>(
        "placeholder", .processing, value: "KIND",
        .choice({ ImagePlaceholder.allCases.map(\.rawValue) }, default: nil, nil) { ImagePlaceholder(rawValue: $0) },
        help: "Add a placeholder of each image to --json and --results: thumbhash or color")
    static let measure = Option<[ImageMeasure]>(
        "measure", .processing,
        value: ValueKind("LIST", of: { ImageMeasure.allCases.map(\.rawValue) }),
        OptionForm(absent: []) { (given) throws(UsageError) in
            let reader = ValueReader.choice({ ImageMeasure.allCases.map(\.rawValue) }) { ImageMeasure(rawValue: $0) }
            var measures: [ImageMeasure] = []
            for word in given.text.split(separator: ",", omittingEmptySubsequences: false) {
                let measure = try reader.read(given.only(String(word)))
                if !measures.contains(measure) { measures.append(measure) }
            }
            return measures
        },
        help: "Add to --json and --results: dhash, entropy, mean, sharpness, color, transparent, frames")
    static let firstFrame = Option("first-frame", .processing, .flag, help: "Use only the first frame of an animation")
    static let srgb = Option(
        "srgb", .processing, .flag, help: "Convert to sRGB; without this option the colour profile is kept in the file")
    static let keepMetadata = Option(
        "keep-metadata", .processing, .flag,
        help: "Keep EXIF and XMP when an image is encoded; a copy keeps its bytes in any case")
    static let stripMetadata = Option(
        "strip-metadata", .processing, .flag, excludes: [keepMetadata.name],
        help: "Remove EXIF, XMP, IPTC and comments, of a copy too, whose pixels stay as they are")
    static let lenient = Option(
        "lenient", .processing, .flag,
        help: "Decode damaged JPEG, PNG and GIF as far as they go, with a warning; nothing of them is cached")
    private static let decodableWords = { @Sendable in ImageFormat.allCases.filter(\.isDecodable).map(\.rawValue) }
    static let decoders = Option<Set<ImageFormat>?>(
        "decoders", .processing, value: ValueKind("FORMAT,...", of: decodableWords), .one(formatSet(decodableWords)),
        help: "Decode these formats only, such as jpeg,png,webp; others are stored and delivered as received")
    static let maxPixels = Option<Int?>(
        "max-pixels", .processing, value: "N", .one(.integer(in: 1...Int.max)), byDefault: "100000000",
        help: "Refuse images with more pixels")
    static let maxMemory = Option<Int64?>(
        "max-memory", .processing, value: "BYTES", .one(.size), byDefault: "1G",
        help: "Refuse images that need more memory; 0 is no limit")
    static let maxProcessTime = Option<Duration?>(
        "max-process-time", .processing, value: "TIME", .one(.duration), byDefault: "30s",
        help: "Refuse images that need more processor time; 0 is no limit")
    static let scaleDown = Option<Int64?>(
        "scale-down", .processing, value: "BYTES", .one(.size),
        help: "Decode an image at a smaller size when its pixels would need more memory than this")
}

/// The quality for every format, and those of formats with their own.
struct QualityChoice: Sendable {
    var every: Int?
    var own: [ImageFormat: Int] = [:]
}

/// The name of a variant, and the chain that follows the processors of `-p`.
struct VariantText: Sendable {
    let name: String
    let chain: String

    init(_ given: Given) throws(UsageError) {
        let parts = given.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        if parts.count == 2, parts[1].isEmpty, OutputName.isSafe(name) {
            throw given.problem("needs a chain behind '\(name)='; \(name)=encode:keep is the image as it is")
        }
        guard parts.count == 2, OutputName.isSafe(name) else {
            throw given.wrong(
                "NAME=CHAIN, such as small=resize:320x, with letters, digits, - and _ in the name")
        }
        self.name = name
        chain = String(parts[1])
    }

    init(width: Int) {
        name = "\(width)"
        chain = "resize:\(width)x,shrink"
    }
}
