/// Shrinks an image so that its longest side equals the longer side of a size; keeps the aspect ratio and never
/// enlarges.
///
/// Bytes are decoded at a reduced size, which saves most of the time and memory of a large picture.
public struct DownsamplingImageProcessor: ImageProcessor, Equatable {
    /// The size in points, of which the longer side counts.
    public let size: SizeSpec

    /// Takes both sides in points, at most ``SizeSpec/maximum``; zero, negative sides and NaN become 1.
    public init(width: Double, height: Double) { self.init(size: SizeSpec(possible: width, height)) }

    /// Shrinks to the longer side of `size`.
    public init(size: SizeSpec) {
        self.size = size
    }

    public var identifier: String { "downsample:\(size.text)" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(
            options.decode,
            resizedTo: { targetSize(width: $0.width, height: $0.height, scaleFactor: options.scaleFactor) })
    }

    package func targetSize(width: Int, height: Int, scaleFactor: Double = 1) -> PixelSize {
        let longest = Double(max(width, height))
        let wanted = size.percent.map { longest * $0 / 100 } ?? max(size.width ?? 0, size.height ?? 0) * scaleFactor
        let side = max(1, wanted.rounded())
        guard side < longest else { return PixelSize(width: width, height: height) }
        func scaled(_ length: Int) -> Int { max(1, Int(clamping: (Double(length) * side / longest).rounded())) }
        return PixelSize(width: scaled(width), height: scaled(height))
    }
}
