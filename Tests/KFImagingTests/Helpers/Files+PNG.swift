import Support

@testable import KFImaging

extension Files {
    /// A PNG's chunk: length, name, data and checksum.
    static func pngChunk(_ name: String, _ data: [UInt8], hasRightChecksum: Bool = true) -> [UInt8] {
        let chunk = PNGChunk.bytes(name, data)
        return hasRightChecksum ? chunk : chunk.dropLast() + [chunk[chunk.count - 1] ^ 1]
    }

    /// The file's chunks: name and data.
    static func pngChunks(_ bytes: [UInt8]) -> [(name: String, data: [UInt8])] {
        var chunks: [(String, [UInt8])] = []
        var position = 8
        while position + 12 <= bytes.count {
            let length = bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            let name = String(decoding: bytes[position + 4..<position + 8], as: UTF8.self)
            chunks.append((name, Array(bytes[position + 8..<position + 8 + length])))
            position += 12 + length
        }
        return chunks
    }

    static func png(_ chunks: [[UInt8]]) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunks.joined()
    }

    /// A frame of an animated PNG; `pixels` holds the samples of the rows as they are stored.
    struct APNGFrame {
        var left = 0
        var top = 0
        var width: Int
        var height: Int
        var pixels: [UInt8]
        var delay = (1, 10)
        var disposal = 0
        var blends = false

        /// A frame of one RGBA colour.
        static func flat(_ width: Int, _ height: Int, _ color: [UInt8], left: Int = 0, top: Int = 0) -> APNGFrame {
            APNGFrame(
                left: left, top: top, width: width, height: height,
                pixels: (0..<width * height).flatMap { _ in color })
        }

        /// A whole canvas of 4×3 pixels, and parts of it.
        static let red = flat(4, 3, [255, 0, 0, 255])
        static let green = flat(2, 2, [0, 255, 0, 255], left: 1, top: 1)
        static let blue = flat(1, 1, [0, 0, 255, 255], left: 3, top: 2)
    }

    /// How an animated PNG stores its pixels.
    struct APNGForm {
        var depth = 8
        var colorType = 6
        /// Chunks between the header and the animation's.
        var chunks: [(name: String, data: [UInt8])] = []
        var isInterlaced = false

        fileprivate var pixelBytes: Int { [1, 0, 3, 1, 2, 0, 4][colorType] * depth / 8 }
    }

    /// The chunks of an animated PNG, whose first frame is the default image when there is no other.
    static func apngChunks(
        _ width: Int, _ height: Int, _ frames: [APNGFrame], _ form: APNGForm = APNGForm(), loops: Int = 0,
        defaultImage: [UInt8]? = nil, stated: Int? = nil
    ) -> [(name: String, data: [UInt8])] {
        let header =
            bigEndian(width) + bigEndian(height)
            + [UInt8(form.depth), UInt8(form.colorType), 0, 0, form.isInterlaced ? 1 : 0]
        var chunks = [("IHDR", header)] + form.chunks
        chunks.append(("acTL", bigEndian(stated ?? frames.count) + bigEndian(loops)))
        if let defaultImage { chunks.append(("IDAT", stream(defaultImage, width, height, form))) }
        var sequence = 0
        func number() -> [UInt8] {
            sequence += 1
            return bigEndian(sequence - 1)
        }
        for (index, frame) in frames.enumerated() {
            let numbers = [frame.width, frame.height, frame.left, frame.top].flatMap(bigEndian)
            let delay = [frame.delay.0, frame.delay.1].flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
            chunks.append(("fcTL", number() + numbers + delay + [UInt8(frame.disposal), frame.blends ? 1 : 0]))
            let data = stream(frame.pixels, frame.width, frame.height, form)
            if index == 0, defaultImage == nil {
                chunks.append(("IDAT", data))
            } else {
                // In two parts, of which the second may be empty.
                chunks.append(("fdAT", number() + data[..<min(20, data.count)]))
                chunks.append(("fdAT", number() + data[min(20, data.count)...]))
            }
        }
        return chunks + [("IEND", [])]
    }

    static func apng(
        _ width: Int, _ height: Int, _ frames: [APNGFrame], _ form: APNGForm = APNGForm(), loops: Int = 0,
        defaultImage: [UInt8]? = nil, stated: Int? = nil
    ) -> [UInt8] {
        png(apngChunks(width, height, frames, form, loops: loops, defaultImage: defaultImage, stated: stated))
    }

    static func png(_ chunks: [(name: String, data: [UInt8])]) -> [UInt8] {
        png(chunks.map { pngChunk($0.name, $0.data) })
    }

    /// Rows without filters, in a zlib stream; those of an interlaced picture pass by pass.
    private static func stream(_ pixels: [UInt8], _ width: Int, _ height: Int, _ form: APNGForm) -> [UInt8] {
        let adam7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        let step = form.pixelBytes
        var rows: [UInt8] = []
        for (x0, y0, dx, dy) in form.isInterlaced ? adam7 : [(0, 0, 1, 1)] where x0 < width {
            for y in stride(from: y0, to: height, by: dy) {
                rows.append(0)
                for x in stride(from: x0, to: width, by: dx) {
                    rows += pixels[(y * width + x) * step..<(y * width + x + 1) * step]
                }
            }
        }
        return zlib(rows)
    }

    static func bigEndian(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }
}
