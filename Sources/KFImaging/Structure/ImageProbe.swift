/// Reads what an image is without decoding it.
public enum ImageProbe {
    /// Reads the header. The first part of a file is enough where it holds the header; the count of frames is then
    /// that of the part.
    ///
    /// - Throws: `notAnImage`, `unsupported` for a format that is only recognised, `truncated`, `corrupt`, and the
    ///   limits' errors.
    public static func probe(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits = .init()
    ) throws(ImagingError) -> ImageInfo {
        try probe(bytes, limits: limits, passage: .silent)
    }

    /// The same; `passage` is told how far the look has come.
    package static func probe(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> ImageInfo {
        let info: ImageInfo
        switch try decodableFormat(bytes) {
        case .png: info = try png(PNGStructure(bytes, passage: passage))
        case .jpeg: info = try jpeg(JPEGStructure(header: bytes))
        case .gif: info = try gif(GIFStructure(bytes, passage: passage))
        default: info = try webp(WebPStructure(bytes))
        }
        try limits.check(width: info.width, height: info.height, frames: info.frames)
        return info
    }

    /// Finds truncation and gross damage at a fraction of a decode's cost, and returns what is wrong with the file
    /// although no pixel is missing. Formats that kf only recognises pass.
    ///
    /// - Throws: `notAnImage`, `truncated`, `corrupt`.
    @discardableResult
    public static func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [ImageWarning] {
        try checkStructure(bytes, passage: .silent)
    }

    /// The same; `passage` is told how far the look has come.
    package static func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        switch ContentKind.sniff(bytes) {
        case .image(.png): return try PNGStructure.check(bytes, passage: passage)
        case .image(.jpeg): return try JPEGStructure.check(bytes, passage: passage)
        case .image(.gif): return try GIFStructure.check(bytes, passage: passage)
        case .image(.webp):
            try WebPStructure.check(bytes)
            return []
        case .image: return []
        case let other: throw .notAnImage(other)
        }
    }

    /// The format, if it is one that can be decoded.
    static func decodableFormat(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageFormat {
        switch ContentKind.sniff(bytes) {
        case .image(let format) where format.isDecodable: return format
        case .image(let format): throw .unsupported(format, feature: "decoding")
        case let other: throw .notAnImage(other)
        }
    }

    private static func png(_ structure: PNGStructure) -> ImageInfo {
        let models: [ImageInfo.ColorModel] = [.gray, .gray, .rgb, .indexed, .gray, .gray, .rgb]
        return ImageInfo(
            format: .png, size: (structure.width, structure.height), orientation: structure.orientation,
            hasAlpha: structure.hasAlpha, colorModel: models[structure.colorType], bitDepth: structure.bitDepth)
    }

    private static func jpeg(_ structure: JPEGStructure) -> ImageInfo {
        ImageInfo(
            format: .jpeg, size: (structure.width, structure.height), orientation: structure.orientation,
            colorModel: structure.components == 1 ? .gray : structure.components == 4 ? .cmyk : .rgb,
            bitDepth: structure.bitDepth)
    }

    private static func gif(_ structure: GIFStructure) -> ImageInfo {
        ImageInfo(
            format: .gif, size: (structure.width, structure.height), frames: max(structure.frames, 1),
            hasAlpha: structure.hasTransparency, colorModel: .indexed, bitDepth: structure.bitDepth)
    }

    private static func webp(_ structure: WebPStructure) -> ImageInfo {
        ImageInfo(
            format: .webp, size: (structure.width, structure.height), orientation: structure.orientation,
            frames: max(structure.frames.count, 1), hasAlpha: structure.hasAlpha)
    }
}

extension ImageInfo {
    /// From the size as stored and the orientation.
    fileprivate init(
        format: ImageFormat, size: (width: Int, height: Int), orientation: Orientation = .upright, frames: Int = 1,
        hasAlpha: Bool = false, colorModel: ColorModel = .rgb, bitDepth: Int = 8
    ) {
        let swap = orientation.swapsSides
        self.init(
            format: format, width: swap ? size.height : size.width, height: swap ? size.width : size.height,
            frames: frames, hasAlpha: hasAlpha, orientation: orientation.value, colorModel: colorModel,
            bitDepth: bitDepth)
    }
}
