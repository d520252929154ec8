/// Makes an image smaller, aspect kept, so that its longest side is that of a size; never makes it larger.
///
/// What is still data is decoded at a reduced size, which saves most of the time and memory of a large picture.
public struct DownsamplingImageProcessor: ImageProcessor, Equatable {
    /// In points; the longer of its sides counts.
    public let size: SizeSpec

    /// A size with both sides, in points. Sides that are not possible count as the nearest that are.
    public init(width: Double, height: Double) { self.init(size: SizeSpec(possible: width, height)) }

    /// The longer side of `size` is what counts.
    public init(size: SizeSpec) {
        self.size = size
    }

    public var identifier: String { "downsample:\(size.text)" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(
            options.decode,
            resizedTo: { targetSize(width: $0.width, height: $0.height, scaleFactor: options.scaleFactor) })
    }

    /// The size in pixels that an image of this size becomes.
    public func targetSize(width: Int, height: Int, scaleFactor: Double = 1) -> PixelSize {
        let longest = Double(max(width, height))
        let side = max(1, (max(size.width ?? 0, size.height ?? 0) * scaleFactor).rounded())
        guard side < longest else { return PixelSize(width: width, height: height) }
        func scaled(_ length: Int) -> Int { max(1, Int((Double(length) * side / longest).rounded())) }
        return PixelSize(width: scaled(width), height: scaled(height))
    }
}
