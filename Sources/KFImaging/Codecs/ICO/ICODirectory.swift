/// The largest picture of an ICO: its place and its kind.
struct ICODirectory {
    enum Picture {
        /// The bytes of a PNG, and what follows it.
        case png(UnsafeRawBufferPointer)
        /// A bitmap without a file header.
        case bitmap(BMPHeader)
    }

    let picture: Picture

    /// Chooses the picture with the most pixels, then the most bits a pixel, then the first.
    ///
    /// The picture's own header tells its size, because an entry cannot state more than 256 pixels a side and many
    /// entries are wrong. The entry tells the size of a picture whose header cannot be read.
    ///
    /// - Throws: `truncated` or `corrupt` when the chosen picture's header cannot be read.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        guard let count = bytes.littleEndian16(at: 4) else { throw .truncated(.ico) }
        let end = 6 + count * 16
        var best: Result<Picture, ImagingError>?
        var most = (pixels: -1, bits: 0)
        for entry in stride(from: 6, to: end, by: 16) {
            guard let length = bytes.littleEndian32(at: entry + 8), let offset = bytes.littleEndian32(at: entry + 12)
            else { throw .truncated(.ico) }
            // Some writers leave entries empty.
            if length == 0 { continue }
            var size = ICODirectory.stated(bytes, at: entry)
            let candidate = Result { () throws(ImagingError) in
                if offset < end { throw .corrupt(.ico, reason: "a picture inside the directory") }
                return try ICODirectory.picture(bytes, at: offset, &size)
            }
            if size > most { (best, most) = (candidate, size) }
        }
        guard let best else { throw .corrupt(.ico, reason: "no picture") }
        picture = try best.get()
    }

    /// The size in an entry; 0 stands for 256.
    private static func stated(_ bytes: UnsafeRawBufferPointer, at entry: Int) -> (pixels: Int, bits: Int) {
        let width = bytes[entry] == 0 ? 256 : Int(bytes[entry])
        let height = bytes[entry + 1] == 0 ? 256 : Int(bytes[entry + 1])
        return (width * height, bytes.littleEndian16(at: entry + 6) ?? 0)
    }

    private static func picture(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, _ size: inout (pixels: Int, bits: Int)
    ) throws(ImagingError) -> Picture {
        guard offset <= bytes.count else { throw .truncated(.ico) }
        guard PNGStructure.isSigned(bytes, at: offset) else {
            let header = try BMPHeader(bytes, at: offset, container: .ico)
            size = (pixels(header.size.width, header.size.height), header.depth)
            return .bitmap(header)
        }
        guard let width = bytes.bigEndian32(at: offset + 16), let height = bytes.bigEndian32(at: offset + 20),
            offset + 26 <= bytes.count
        else { throw .truncated(.ico) }
        // An unknown colour type is an error when the picture is read.
        let samples = PNGStructure.channels(Int(bytes[offset + 25]))
        size = (pixels(width, height), Int(bytes[offset + 24]) * samples)
        return .png(bytes.part(offset..<bytes.count))
    }

    private static func pixels(_ width: Int, _ height: Int) -> Int {
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : pixels
    }
}
