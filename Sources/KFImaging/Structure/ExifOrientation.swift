/// Finds the orientation in EXIF data, which is a small TIFF file.
enum ExifOrientation {
    /// Orientation 1 for anything damaged: a picture is not refused for its metadata. Only the first directory is
    /// read, once through, so that neither loops nor huge counts cost anything.
    static func read(_ exif: UnsafeRawBufferPointer) -> Orientation {
        var tiff = exif
        if tiff.holds("Exif\0\0", at: 0) { tiff = UnsafeRawBufferPointer(rebasing: tiff[6...]) }
        let little: Bool
        if tiff.holds("II*\0", at: 0) {
            little = true
        } else if tiff.holds("MM\0*", at: 0) {
            little = false
        } else {
            return .upright
        }
        func short(_ offset: Int) -> Int? { little ? tiff.littleEndian16(at: offset) : tiff.bigEndian16(at: offset) }
        func long(_ offset: Int) -> Int? { little ? tiff.littleEndian32(at: offset) : tiff.bigEndian32(at: offset) }

        guard let directory = long(4), let count = short(directory) else { return .upright }
        for index in 0..<count {
            let entry = directory + 2 + 12 * index
            guard let tag = short(entry), let type = short(entry + 2) else { return .upright }
            guard tag == 0x0112 else { continue }
            guard type == 3, let value = short(entry + 8) else { return .upright }
            return Orientation(value)
        }
        return .upright
    }
}
