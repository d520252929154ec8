/// Lays a colour over the image with the opacity of the colour's alpha; the image's alpha stays.
public struct TintImageProcessor: ImageProcessor, Equatable {
    /// The colour; its alpha is its opacity.
    public let color: Color

    /// Makes a processor that lays this colour over the image.
    public init(tint: Color) { color = tint }

    public var identifier: String { "tint:\(color.hexadecimal)" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let (colors, alpha) = (color.units, color.units[3])
        let tables = ChannelTables(
            colors: colors.prefix(3).map { color in { alpha * color + (1 - alpha) * $0 } })
        let colored = !color.isGray && color.alpha > 0
        return try item.image(options.decode, coloring: colored) { (bitmap) throws(ImagingError) in
            try tables.apply(to: bitmap.reducedToEightBits().expanded(color: colored, alpha: false))
        }
    }
}
