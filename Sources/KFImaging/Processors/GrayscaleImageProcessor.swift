/// Removes the colour: every pixel becomes the grey of its luma (Rec. 709, on gamma-encoded values).
///
/// The result has one channel, or two with alpha. An image with a profile keeps the profile and three equal channels,
/// because the profile describes coloured pixels.
public struct GrayscaleImageProcessor: ImageProcessor, Equatable {
    /// Makes the processor; it has no parameters.
    public init() {}

    public var identifier: String { "grayscale" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let matrix = ColorMatrix(brightness: 0, contrast: 1, saturation: 0, exposure: 0)
        let image = try item.image(options.decode) { (bitmap) throws(ImagingError) in try matrix.apply(to: bitmap) }
        if image.iccProfile != nil { return image }
        return try image.mapBitmaps { (bitmap) throws(ImagingError) in try bitmap.firstChannel() }
    }
}

extension Bitmap {
    /// Returns the first colour channel and alpha of a bitmap of 8 bits a sample, whose colour channels are equal.
    fileprivate func firstChannel() throws(ImagingError) -> Bitmap {
        if format.isGray { return self }
        let width = width
        if format.hasAlpha {
            return try mapRows(to: .grayAlpha) { row, output in
                for x in 0..<width { (output[2 * x], output[2 * x + 1]) = (row[4 * x], row[4 * x + 3]) }
            }
        }
        return try mapRows(to: .gray) { row, output in
            for x in 0..<width { output[x] = row[3 * x] }
        }
    }
}
