import KFImaging

/// The conversion between an image and the bytes in the cache. Kingfisher's `CacheSerializer`.
///
/// An image that no processor changed and no serializer converts is stored and delivered byte for byte as it arrived.
///
/// A serializer that encrypts has an identifier and keeps no format. It then gets every image, unprocessed ones
/// included, and the cache contains only its output. ``KingfisherOptions/cacheOriginalImage`` would store the original
/// unencrypted, and large bodies are in a temporary file during their transfer.
public protocol CacheSerializer: Sendable {
    /// The last step of the cache key; empty for the default.
    var identifier: String { get }
    /// Returns whether bytes of this format are stored unchanged. By default none are.
    func keeps(_ format: ImageFormat) -> Bool
    /// Returns whether bytes of this format are stored unchanged in place of what processors would make of them. By default
    /// none are.
    func copies(_ format: ImageFormat) -> Bool
    /// Returns the bytes to store of an unprocessed image whose bytes these are, when they can be made without encoding
    /// its pixels; nil to encode them, as by default.
    func rewritten(_ data: [UInt8], _ format: ImageFormat) throws(ImagingError) -> [UInt8]?
    /// Returns the encoded bytes and their format. `original` is the format of the original.
    func data(for image: Image, original: ImageFormat?) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat)
    /// Decodes bytes that ``data(for:original:)`` returned, or that the serializer keeps unchanged. The default decodes
    /// an image file.
    func image(with data: [UInt8], options: DecodeOptions) throws(ImagingError) -> Image
}

extension CacheSerializer {
    public func keeps(_ format: ImageFormat) -> Bool { false }

    public func copies(_ format: ImageFormat) -> Bool { false }

    public func rewritten(_ data: [UInt8], _ format: ImageFormat) throws(ImagingError) -> [UInt8]? { nil }

    public func image(with data: [UInt8], options: DecodeOptions) throws(ImagingError) -> Image {
        try ImageDecoder.decode(data, options: options)
    }
}

/// The default serializer. It keeps the original's format if kf can write it and it can represent the pixels, otherwise
/// PNG.
public struct DefaultCacheSerializer: CacheSerializer {
    /// The serializer with the default options.
    public static let `default` = DefaultCacheSerializer()

    /// The options of the encoder.
    public var options: EncodeOptions
    /// Whether unprocessed images stay unchanged even with other options. With the default options they always do.
    public var preferCacheOriginalData = false

    /// Creates a serializer. With the default options, unprocessed images stay unchanged.
    public init(options: EncodeOptions = EncodeOptions()) { self.options = options }

    public var identifier: String {
        guard options != EncodeOptions() else { return "" }
        return EncodingIdentifier.text(format: nil, options) + (preferCacheOriginalData ? ",original=1" : "")
    }

    /// Returns whether bytes of this format stay unchanged. They are encoded again only for other options, such as a
    /// quality.
    public func keeps(_ format: ImageFormat) -> Bool { preferCacheOriginalData || options.keepsBytes(of: format) }

    /// Returns whether the options keep images that are not decoded.
    public func copies(_ format: ImageFormat) -> Bool { options.copiesUndecoded && !format.isDecodable }

    /// Removes the metadata, if the options say so and nothing else. Throws `encodingFailed` for a format whose files
    /// cannot be rewritten.
    public func rewritten(_ data: [UInt8], _ format: ImageFormat) throws(ImagingError) -> [UInt8]? {
        guard options.onlyStrips(format) else { return nil }
        if let bytes = try MetadataRemoval.strip(data, format) { return bytes }
        let other = format.isEncodable ? format.rawValue : ImageFormat.png.rawValue
        throw .encodingFailed(
            format, reason: "its metadata can only be removed by encoding it again, as -f \(other) does")
    }

    public func data(
        for image: Image, original: ImageFormat?
    ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        var format = original ?? .png
        // A result with transparency, such as round corners of a JPEG, needs alpha or a background.
        if !format.isEncodable || options.loseAlpha(of: image, in: format) { format = .png }
        return (try ImageEncoder.encode(image, as: format, options: options), format)
    }
}

/// A serializer that writes one format. Kingfisher's `FormatIndicatedCacheSerializer`.
public struct FormatIndicatedCacheSerializer: CacheSerializer {
    /// The serializer for PNG.
    public static let png = FormatIndicatedCacheSerializer(format: .png)
    /// The serializer for JPEG with the default quality.
    public static let jpeg = FormatIndicatedCacheSerializer(format: .jpeg)
    /// The serializer for GIF, animated if the image is.
    public static let gif = FormatIndicatedCacheSerializer(format: .gif)

    /// The format of the output.
    public let format: ImageFormat
    /// The options of the encoder.
    public let options: EncodeOptions

    /// Creates a serializer. `format` must be one that kf can write.
    public init(format: ImageFormat, options: EncodeOptions = EncodeOptions()) {
        self.format = format
        self.options = options.only(format)
    }

    public var identifier: String { EncodingIdentifier.text(format: format, options) }

    public func keeps(_ format: ImageFormat) -> Bool { format == self.format && options.keepsBytes(of: format) }

    /// Returns whether the options keep images that are not decoded.
    public func copies(_ format: ImageFormat) -> Bool { options.copiesUndecoded && !format.isDecodable }

    /// Removes the metadata, if the options say so and nothing else, and the file can be rewritten.
    public func rewritten(_ data: [UInt8], _ format: ImageFormat) throws(ImagingError) -> [UInt8]? {
        format == self.format && options.onlyStrips(format) ? try MetadataRemoval.strip(data, format) : nil
    }

    public func data(
        for image: Image, original: ImageFormat?
    ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        let written = options.loseAlpha(of: image, in: format) ? options.transparentFormat ?? format : format
        return (try ImageEncoder.encode(image, as: written, options: options), written)
    }
}

/// The last step of a cache key, for images with other than the default encoding.
enum EncodingIdentifier {
    /// Returns `encode:jpeg,quality=85`: the format, its quality if it has one, and the options that differ from the
    /// default. Without a format, which is `keep`, the quality is one of the options.
    static func text(format: ImageFormat?, _ options: EncodeOptions) -> String {
        let usual = EncodeOptions()
        var parts = ["encode:\(format?.rawValue ?? "keep")"]
        func add(_ name: String, _ value: String, if isUnusual: Bool) {
            if isUnusual { parts.append("\(name)=\(value)") }
        }
        if let quality = format.map({ options.quality(of: $0) }) ?? options.quality {
            add("quality", "\(quality)", if: format != .png && format != .gif)
        }
        let own = options.qualities.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key):\($0.value)" }
        add("qualities", own.joined(separator: "+"), if: !own.isEmpty)
        if let background = options.background { parts.append("background=\(background.hexadecimal)") }
        add("progressive", "1", if: options.progressive)
        add("chroma", options.chromaSubsampling.rawValue, if: options.chromaSubsampling != usual.chromaSubsampling)
        add("level", "\(options.compressionLevel)", if: options.compressionLevel != usual.compressionLevel)
        add("lossless", "1", if: options.lossless)
        add("effort", "\(options.effort)", if: options.effort != usual.effort)
        add("speed", "\(options.speed)", if: options.speed != usual.speed)
        add("srgb", "1", if: options.convertsToSRGB)
        add("metadata", "1", if: options.keepsMetadata)
        add("strip", "1", if: options.stripsMetadata)
        if let other = options.transparentFormat { parts.append("transparent=\(other.rawValue)") }
        add("undecoded", "copy", if: options.copiesUndecoded)
        return parts.joined(separator: ",")
    }
}

/// A chain of processors with the encoding of its result: `resize:320x|>encode:webp,quality=80`, the text of a cache
/// key's identifier.
public struct ProcessingChain: Sendable {
    /// The processors.
    public let processor: any ImageProcessor
    /// The format of the last step `encode:FORMAT`; nil without that step, and for `encode:keep`.
    public let format: ImageFormat?
    /// The serializer of the last step; nil without that step.
    public let serializer: (any CacheSerializer)?

    private static let step = "encode"
    private static let parameters = [
        "format", "quality", "qualities", "background", "progressive", "chroma", "level", "lossless", "effort", "speed",
        "srgb",
        "metadata", "strip", "transparent", "undecoded",
    ]

    /// Parses a chain. `encoding` has the options that the last step does not name. Throws `invalidProcessor`.
    public init(_ text: String, encoding: EncodeOptions = EncodeOptions()) throws(ImagingError) {
        let bar = text.indices.last { text[$0...].hasPrefix("|>") }
        let last = text[(bar.map { text.index($0, offsetBy: 2) } ?? text.startIndex)...].drop { $0 == " " }
        guard last == Self.step || last.hasPrefix(Self.step + ":") else {
            let steps = text.split(separator: ">").map { $0.drop { $0 == " " } }
            guard !steps.contains(where: { $0.hasPrefix(Self.step + ":") }) else {
                throw .invalidProcessor(spec: text, reason: "'\(Self.step):' must be the last step")
            }
            processor = try ProcessorParser.parse(text)
            format = nil
            serializer = nil
            return
        }
        if let bar {
            let rest = text[..<bar]
            guard !rest.allSatisfy({ $0 == " " }) else {
                throw .invalidProcessor(spec: text, reason: "an empty step")
            }
            processor = try ProcessorParser.parse(String(rest))
        } else {
            processor = DefaultImageProcessor()
        }
        (format, serializer) = try Self.serializer(last, encoding)
    }

    private static func serializer(
        _ step: Substring, _ encoding: EncodeOptions
    ) throws(ImagingError) -> (ImageFormat?, any CacheSerializer) {
        let colon = step.firstIndex(of: ":")
        let arguments = try ProcessorArguments(
            spec: String(step), arguments: colon.map { step[step.index(after: $0)...] }, parameters: parameters)
        var options = encoding
        for part in arguments.text("qualities")?.split(separator: "+") ?? [] {
            guard let (format, quality) = EncodeOptions.ownQuality(part, ":") else {
                throw arguments.fail("qualities are such as 'webp:80+jpeg:85', not '\(part)'")
            }
            options.qualities[format] = quality
        }
        func whole(_ key: String, in range: ClosedRange<Double>, _ usual: Int = 0) throws(ImagingError) -> Int {
            Int(clamping: try arguments.number(key, in: range, default: Double(usual)))
        }
        if arguments.text("quality") != nil { options.quality = try whole("quality", in: 1...100) }
        options.compressionLevel = try whole("level", in: 0...9, encoding.compressionLevel)
        options.effort = try whole("effort", in: 0...6, encoding.effort)
        options.speed = try whole("speed", in: 0...10, encoding.speed)
        if arguments.text("background") != nil {
            let color: Color = try arguments.value(
                "background", mustBe: "a colour such as '#336699' or 'white'"
            ) { Color($0).flatMap { $0.alpha == 255 ? $0 : nil } }
            options.background = color
        }
        options.chromaSubsampling = try arguments.value(
            "chroma", default: encoding.chromaSubsampling, mustBe: "4:2:0 or 4:4:4"
        ) { EncodeOptions.ChromaSubsampling(rawValue: $0) }
        func flag(_ key: String, _ usual: Bool) throws(ImagingError) -> Bool {
            try arguments.number(key, in: 0...1, default: usual ? 1 : 0) > 0
        }
        options.progressive = try flag("progressive", encoding.progressive)
        options.lossless = try flag("lossless", encoding.lossless)
        options.convertsToSRGB = try flag("srgb", encoding.convertsToSRGB)
        options.keepsMetadata = try flag("metadata", encoding.keepsMetadata)
        options.stripsMetadata = try flag("strip", encoding.stripsMetadata)
        if arguments.text("transparent") != nil {
            let format: ImageFormat = try arguments.value("transparent", mustBe: "png") { $0 == "png" ? .png : nil }
            options.transparentFormat = format
        }
        options.copiesUndecoded = try arguments.value(
            "undecoded", default: encoding.copiesUndecoded, mustBe: "copy or fail"
        ) { ["copy": true, "fail": false][$0] }
        if options.keepsMetadata, options.stripsMetadata {
            throw arguments.fail("metadata=1 and strip=1 contradict each other")
        }
        let word = arguments.text("format")?.lowercased() ?? ""
        if word == "keep" { return (nil, DefaultCacheSerializer(options: options)) }
        guard let format = ImageFormat(ending: word), format.isEncodable else {
            let words = ImageFormat.allCases.filter(\.isEncodable).map(\.rawValue).joined(separator: ", ")
            throw arguments.fail("the format is '\(word)', but must be one of \(words), keep")
        }
        if options.lossless, !encoding.lossless, ![.webp, .avif, .png, .gif].contains(format) {
            throw arguments.fail("\(format.displayName) is never lossless; webp, avif and png are")
        }
        return (format, FormatIndicatedCacheSerializer(format: format, options: options))
    }
}

extension EncodeOptions {
    /// The formats that have a quality.
    private static let lossy: [ImageFormat] = [.jpeg, .webp, .avif]

    /// Reads the quality of one format, such as `webp=80`; nil for any other text.
    package static func ownQuality(_ text: Substring, _ mark: Character) -> (ImageFormat, Int)? {
        let parts = text.split(separator: mark, omittingEmptySubsequences: false)
        guard parts.count == 2, let quality = Int(parts[1]), (1...100).contains(quality),
            let format = ImageFormat(ending: String(parts[0])), lossy.contains(format)
        else { return nil }
        return (format, quality)
    }

    /// Returns whether a format would lose the transparency of an image, which no background replaces.
    func loseAlpha(of image: Image, in format: ImageFormat) -> Bool {
        !format.supportsAlpha && background == nil && image.frames.contains { !$0.bitmap.isOpaque }
    }

    /// Returns whether bytes of this format satisfy these options once their metadata is removed.
    func onlyStrips(_ format: ImageFormat) -> Bool {
        var others = self
        others.stripsMetadata = false
        return stripsMetadata && others.keepsBytes(of: format)
    }

    /// Returns whether bytes of this format already satisfy these options. Options that only affect encoding
    /// (background, speed, kept metadata) do not require it.
    func keepsBytes(of format: ImageFormat) -> Bool {
        var asked = only(format)
        if asked.quality == EncodeOptions.usualQuality(of: format) { asked.quality = nil }
        asked.background = nil
        (asked.transparentFormat, asked.copiesUndecoded) = (nil, false)
        asked.speed = EncodeOptions().speed
        asked.keepsMetadata = false
        guard asked != EncodeOptions() else { return true }
        if asked.convertsToSRGB || asked.stripsMetadata { return false }
        // The remaining options make no visible difference to PNG and GIF.
        return format == .png || format == .gif
    }
}
