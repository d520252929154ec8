import KFCore

/// A custom processor that inverts every sample of every frame except alpha.
struct Negative: ImageProcessor {
    let identifier = "org.example.negative"

    func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode) { (bitmap) throws(ImagingError) in
            guard bitmap.format.depth == .eight else {
                throw .processingFailed(identifier: identifier, reason: "16 bits a sample are too many")
            }
            var bitmap = bitmap
            let channels = bitmap.format.channelCount
            let colours = channels - (bitmap.format.hasAlpha ? 1 : 0)
            try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                for y in 0..<rows.height {
                    let row = rows.row(y)
                    for x in 0..<rows.width {
                        for channel in 0..<colours { row[x * channels + channel] ^= 255 }
                    }
                }
            }
            return bitmap
        }
    }
}
