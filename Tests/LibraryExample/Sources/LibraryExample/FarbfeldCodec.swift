import KFCore

/// farbfeld: its name, width and height, then RGBA pixels; all numbers are big-endian, those of the pixels have 16 bits.
struct FarbfeldCodec: ImageCodec {
    let format = ImageFormat(rawValue: "farbfeld")!
    let fileExtension = "ff"
    let isEncodable = true

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.starts(with: Array("farbfeld".utf8)) }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        guard bytes.count >= 16 else { throw .truncated(format) }
        let width = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        let height = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        return ImageInfo(format: format, width: Int(width), height: Int(height), hasAlpha: true, bitDepth: 16)
    }

    func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let info = try probe(bytes)
        guard (bytes.count - 16) / 8 / info.width >= info.height else { throw .truncated(format) }
    }

    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        try checkStructure(bytes)
        let info = try probe(bytes)
        var bitmap = try Bitmap(width: info.width, height: info.height, format: PixelFormat(.rgba, .sixteen))
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            for y in 0..<rows.height {
                try ImageCodecs.checkTime()
                let (row, start) = (rows.row16(y), 16 + y * rows.width * 8)
                for index in 0..<rows.width * 4 {
                    row[index] = UInt16(
                        bigEndian: bytes.loadUnaligned(fromByteOffset: start + index * 2, as: UInt16.self))
                }
            }
        }
        return Image(bitmap)
    }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        var bytes = Array("farbfeld".utf8)
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
        append(UInt32(image.width))
        append(UInt32(image.height))
        try image.bitmap.expanded(to: PixelFormat(.rgba, .sixteen)).withUnsafeRows { (rows) throws(ImagingError) in
            for y in 0..<rows.height {
                try ImageCodecs.checkTime()
                for sample in UnsafeBufferPointer(start: rows.row16(y), count: rows.width * 4) { append(sample) }
            }
        }
        return bytes
    }
}
