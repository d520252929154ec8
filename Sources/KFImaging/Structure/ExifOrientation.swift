/// Finds the orientation in EXIF data, which is a small TIFF file.
enum ExifOrientation {
    /// Nil where there is none, and for anything damaged: a picture is not refused for its metadata. Only the first
    /// directory is read, once through, so that neither loops nor huge counts cost anything.
    static func read(_ exif: UnsafeRawBufferPointer) -> Orientation? {
        guard let tiff = Tiff(exif), let offset = tiff.orientationOffset, let value = tiff.short(offset) else {
            return nil
        }
        return Orientation(value)
    }

    /// The data as a TIFF file whose orientation says upright; nil for what is none.
    static func reset(in exif: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let tiff = Tiff(exif) else { return nil }
        var bytes = Array(tiff.bytes)
        if let offset = tiff.orientationOffset, offset + 2 <= bytes.count {
            bytes[offset] = tiff.isLittle ? 1 : 0
            bytes[offset + 1] = tiff.isLittle ? 0 : 1
        }
        return bytes
    }
}

private struct Tiff {
    let bytes: UnsafeRawBufferPointer
    let isLittle: Bool

    /// Nil without a TIFF header, in front of which EXIF's marker may stand.
    init?(_ exif: UnsafeRawBufferPointer) {
        bytes = exif.holds("Exif\0\0", at: 0) ? UnsafeRawBufferPointer(rebasing: exif[6...]) : exif
        if bytes.holds("II*\0", at: 0) {
            isLittle = true
        } else if bytes.holds("MM\0*", at: 0) {
            isLittle = false
        } else {
            return nil
        }
    }

    func short(_ offset: Int) -> Int? { isLittle ? bytes.littleEndian16(at: offset) : bytes.bigEndian16(at: offset) }
    private func long(_ offset: Int) -> Int? {
        isLittle ? bytes.littleEndian32(at: offset) : bytes.bigEndian32(at: offset)
    }

    /// Where the orientation's value stands in the first directory.
    var orientationOffset: Int? {
        guard let directory = long(4), let count = short(directory) else { return nil }
        for index in 0..<count {
            let entry = directory + 2 + 12 * index
            guard let tag = short(entry), let type = short(entry + 2) else { return nil }
            if tag == 0x0112 { return type == 3 ? entry + 8 : nil }
        }
        return nil
    }
}
