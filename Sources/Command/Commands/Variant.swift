import KFCore

/// One of the images that are made of each source.
struct Variant: Sendable {
    /// The name that `--variant` gives, or the width; nil without these options.
    let name: String?
    /// The format that is written; nil for the source's own.
    let format: ImageFormat?
    var options: KingfisherOptions
    /// The number of the picture that its placeholder shows: all formats, and all widths, have one.
    let picture: Int
    /// Whether its last step resizes it to one of `--widths`.
    let isWidth: Bool

    /// One image for each `--variant` or width in each format. Each chain follows the processors of `-p`.
    static func all(_ arguments: ParsedArguments, _ options: KingfisherOptions) throws(UsageError) -> [Variant] {
        var encoding = try encoding(arguments)
        let start = try arguments[Options.process].map { text throws(UsageError) in
            try chain(text, encoding, of: "")
        }
        var formats: [ImageFormat?] = []
        for format in try Self.formats(arguments) where !formats.contains(format) { formats.append(format) }
        // A page has a picture with transparency as PNG beside WebP; of a single JPEG it is a mistake to tell.
        if formats.count > 1 { encoding.transparentFormat = .png }
        if start?.serializer != nil, arguments.isOnCommandLine(Options.format) {
            throw UsageError(message: "-p ends in 'encode:', so -f has no effect; leave out one of them")
        }
        let widths = try arguments[Options.widths]
        let texts = try arguments[Options.variant] + widths
        var unchanged = encoding
        unchanged.copiesUndecoded = false
        var variants: [Variant] = []
        var usesFormats = false
        for text in texts.isEmpty ? [nil] : texts.map(Optional.some) {
            guard text == nil || !variants.contains(where: { $0.name == text?.name }) else {
                throw UsageError(message: "there are two variants named '\(text?.name ?? "")'")
            }
            let chain = try text.map { text throws(UsageError) in
                try Self.chain(text.chain, encoding, of: "variant '\(text.name)': ")
            }
            let picture = widths.isEmpty ? variants.last.map { $0.picture + 1 } ?? 0 : 0
            func add(_ format: ImageFormat?, _ serializer: any CacheSerializer) {
                var options = options
                if let start { options.processor = start.processor }
                if let chain {
                    options.processor = options.processor.append(another: chain.processor)
                    options.lateSteps = chain.processor.steps.count { !$0.identifier.isEmpty }
                }
                options.cacheSerializer = serializer
                variants.append(
                    Variant(
                        name: text?.name, format: format, options: options, picture: picture, isWidth: !widths.isEmpty))
            }
            if let last = chain?.serializer == nil ? start : chain, let serializer = last.serializer {
                add(last.format, serializer)
                continue
            }
            usesFormats = true
            for format in formats {
                add(
                    format,
                    format.map { FormatIndicatedCacheSerializer(format: $0, options: encoding) }
                        ?? DefaultCacheSerializer(options: start == nil && chain == nil ? unchanged : encoding))
            }
        }
        if arguments.isOnCommandLine(Options.format), !variants.isEmpty, !usesFormats {
            throw UsageError(message: "every --variant ends in 'encode:', so -f has no effect; leave out one of them")
        }
        return variants
    }

    private static func chain(
        _ text: String, _ encoding: EncodeOptions, of owner: String
    ) throws(UsageError) -> ProcessingChain {
        do { return try ProcessingChain(text, encoding: encoding) } catch {
            throw UsageError(message: owner + error.message)
        }
    }

    private static func encoding(_ arguments: ParsedArguments) throws(UsageError) -> EncodeOptions {
        var encoding = EncodeOptions()
        let quality = try arguments[Options.quality]
        (encoding.quality, encoding.qualities) = (quality.every, quality.own)
        if let speed = try arguments[Options.speed] { encoding.speed = speed }
        if let color = try arguments[Options.background] { encoding.background = color }
        encoding.convertsToSRGB = try arguments[Options.srgb]
        encoding.keepsMetadata = try arguments[Options.keepMetadata]
        encoding.stripsMetadata = try arguments[Options.stripMetadata]
        encoding.copiesUndecoded = try arguments[Options.undecoded]
        return encoding
    }

    /// The formats of `-f`. Without it, the format that the name of the output stands for.
    private static func formats(_ arguments: ParsedArguments) throws(UsageError) -> [ImageFormat?] {
        let formats = try arguments[Options.format]
        let asked = arguments.layer(of: Options.format)
        let (named, layer) = try Destination.format(arguments)
        guard let named, named.isEncodable, asked == nil || layer < asked ?? 0 else {
            return formats.isEmpty ? [nil] : formats
        }
        return [named]
    }
}
