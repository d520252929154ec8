/// Chooses the size at which a JPEG is decoded: libjpeg makes eighths of it at little cost.
enum JPEGScale {
    /// The smallest numerator of 1, 2, 4 and 8 that reaches the minimum and, of those that exceed the budget of
    /// bytes, none. The sizes in between are left out: libjpeg has no vector code for them, and they cost more
    /// than the next larger one.
    static func numerator(source: PixelSize, minimum: PixelSize?, maxBytes: Int?, bytesPerPixel: Int) -> Int {
        var chosen = 8
        if let minimum {
            chosen =
                [1, 2, 4].first { numerator in
                    let size = scaled(source, numerator)
                    return size.width >= minimum.width && size.height >= minimum.height
                } ?? 8
        }
        if let maxBytes {
            while chosen > 1 {
                let size = scaled(source, chosen)
                if size.width * size.height * bytesPerPixel <= maxBytes { break }
                chosen /= 2
            }
        }
        return chosen
    }

    private static func scaled(_ source: PixelSize, _ numerator: Int) -> PixelSize {
        PixelSize(width: (source.width * numerator + 7) / 8, height: (source.height * numerator + 7) / 8)
    }
}
