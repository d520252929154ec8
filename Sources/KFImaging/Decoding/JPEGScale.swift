/// Chooses the size at which a JPEG is decoded: libjpeg makes eighths of it at little cost.
enum JPEGScale {
    /// The smallest numerator of 1, 2, 4 and 8 that reaches the minimum. The sizes in between are left out: libjpeg
    /// has no vector code for them, and they cost more than the next larger one.
    static func numerator(source: PixelSize, minimum: PixelSize?) -> Int {
        guard let minimum else { return 8 }
        return [1, 2, 4].first { numerator in
            let width = (source.width * numerator + 7) / 8
            let height = (source.height * numerator + 7) / 8
            return width >= minimum.width && height >= minimum.height
        } ?? 8
    }
}
