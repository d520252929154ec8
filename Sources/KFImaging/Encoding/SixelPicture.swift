import CImageCodecs
import Glibc

/// Pictures for terminals that draw sixels, encoded by libsixel if it is installed.
package enum SixelPicture {
    /// Whether libsixel can be loaded.
    package static var isAvailable: Bool { kf_sixel_is_available() != 0 }

    /// Returns the escape sequence that draws an 8-bit RGBA bitmap over black.
    package static func text(_ bitmap: Bitmap) throws(ImagingError) -> String {
        var pixels: [UInt8] = []
        pixels.reserveCapacity(bitmap.width * bitmap.height * 3)
        bitmap.withUnsafeRows { rows in
            for y in 0..<rows.height {
                let row = rows.row(y)
                for x in 0..<rows.width {
                    let alpha = Int(row[4 * x + 3])
                    for channel in 0..<3 { pixels.append(UInt8(Int(row[4 * x + channel]) * alpha / 255)) }
                }
            }
        }
        var start: UnsafeMutablePointer<CChar>?
        var count = 0
        guard kf_sixel_encode(pixels, Int32(bitmap.width), Int32(bitmap.height), &start, &count) == 0, let start else {
            throw .processingFailed(identifier: "sixel", reason: "libsixel cannot encode the picture")
        }
        defer { free(start) }
        let bytes = UnsafeBufferPointer(start: start, count: count)
        return String(decoding: bytes.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
