@testable import KFImaging

extension Files {
    struct WebPFrame {
        let bitmap: Bitmap
        let left: Int
        let top: Int
        let blends: Bool
        let clears: Bool

        /// Left and top are even.
        init(_ bitmap: Bitmap, left: Int = 0, top: Int = 0, blends: Bool = true, clears: Bool = false) {
            (self.bitmap, self.left, self.top, self.blends, self.clears) = (bitmap, left, top, blends, clears)
        }
    }

    /// An animated WebP of lossless frames.
    static func webp(_ width: Int, _ height: Int, _ frames: [WebPFrame]) throws -> [UInt8] {
        var chunks = chunk("VP8X", [0x12, 0, 0, 0] + word24(width - 1) + word24(height - 1))
        chunks += chunk("ANIM", [0, 0, 0, 0, 0, 0])
        for frame in frames {
            let file = try ImageEncoder.encode(Image(frame.bitmap), as: .webp, options: .init(lossless: true))
            let head =
                word24(frame.left / 2) + word24(frame.top / 2) + word24(frame.bitmap.width - 1)
                + word24(frame.bitmap.height - 1) + word24(50)
            let flags: UInt8 = (frame.blends ? 0 : 2) | (frame.clears ? 1 : 0)
            // A lossless file consists of one chunk.
            chunks += chunk("ANMF", head + [flags] + file[12...])
        }
        return chunk("RIFF", Array("WEBP".utf8) + chunks)
    }

    private static func word24(_ value: Int) -> [UInt8] {
        [UInt8(value & 255), UInt8(value >> 8 & 255), UInt8(value >> 16 & 255)]
    }

    private static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
        Array(name.utf8) + word24(body.count) + [UInt8(body.count >> 24)] + body + (body.count % 2 == 1 ? [0] : [])
    }
}
