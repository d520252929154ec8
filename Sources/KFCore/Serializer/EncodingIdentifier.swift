import KFImaging

/// The last step of a cache key, when an image is not encoded as by default.
enum EncodingIdentifier {
    /// `encode:jpeg,quality=85`: the format, the quality where it has one, and what differs from the default.
    static func text(format: String, _ options: EncodeOptions) -> String {
        let usual = EncodeOptions()
        var parts = ["encode:\(format)"]
        func add(_ name: String, _ value: String, if isUnusual: Bool) {
            if isUnusual { parts.append("\(name)=\(value)") }
        }
        let hasQuality = format != ImageFormat.png.rawValue && format != ImageFormat.gif.rawValue
        add("quality", "\(options.quality)", if: hasQuality)
        if let background = options.background { parts.append("background=\(background.hexadecimal)") }
        add("progressive", "1", if: options.progressive)
        add("chroma", options.chromaSubsampling.rawValue, if: options.chromaSubsampling != usual.chromaSubsampling)
        add("level", "\(options.compressionLevel)", if: options.compressionLevel != usual.compressionLevel)
        add("lossless", "1", if: options.lossless)
        add("effort", "\(options.effort)", if: options.effort != usual.effort)
        add("srgb", "1", if: options.convertsToSRGB)
        add("metadata", "1", if: options.keepsMetadata)
        return parts.joined(separator: ",")
    }
}

extension EncodeOptions {
    /// Whether bytes of this format need not be encoded again to be what these options ask for. What is only about
    /// encoding (a background, metadata that is kept) asks for nothing of bytes that stay as they are.
    func keepsBytes(of format: ImageFormat) -> Bool {
        var asked = self
        asked.background = nil
        asked.keepsMetadata = false
        guard asked != EncodeOptions() else { return true }
        if asked.convertsToSRGB { return false }
        // The others of these options say nothing of lossless formats that a reader could see.
        return format == .png || format == .gif
    }
}
