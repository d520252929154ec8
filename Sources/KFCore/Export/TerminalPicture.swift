import KFImaging
import KFPipeline
import KFStorage
import KFSystem
import KFTerms

/// The display of an image in a terminal.
package enum TerminalPicture {
    package enum Form: Sendable {
        /// The kitty protocol: a PNG in escape sequences.
        case kitty
        /// The iTerm2 protocol: a PNG in one escape sequence.
        case iTerm2
        case sixel
        /// Two pixels per character, in 24 bits or in the 256 colours of xterm.
        case blocks(isTrueColor: Bool)
    }

    package static var hasSixel: Bool { SixelPicture.isAvailable }

    /// The assumed size of a character in pixels, if the terminal does not report it.
    private static let (characterWidth, characterHeight) = (10, 20)
    /// The length of the base 64 text in one escape sequence of kitty.
    private static let pieceLength = 4096

    /// Returns the escape sequences for the first frame, scaled down to fit and never up. The cursor ends on a new
    /// line. Blocks. Throws `processingFailed` (4001) if kf cannot decode the image.
    package static func text(
        _ result: RetrieveImageResult, _ form: Form, columns: Int, rows: Int
    ) throws(KingfisherError) -> String {
        let bytes = try result.loadData()
        do {
            var options = ProcessingOptions()
            options.decode.firstFrameOnly = true
            return try Allowance(options.decode.limits, fileBytes: bytes.count).run { () throws(ImagingError) in
                let source = try ImageDecoder.decode(bytes, options: options.decode)
                guard case .blocks(let isTrueColor) = form else {
                    let image = try fitted(source, columns * characterWidth, rows * characterHeight, options)
                    if case .sixel = form { return try SixelPicture.text(rgba(image)) + "\n" }
                    let data = Base64.encode(try ImageEncoder.encode(image, as: .png, options: EncodeOptions()))
                    if case .kitty = form { return kitty(data) }
                    return "\u{1b}]1337;File=inline=1:\(data)\u{7}\n"
                }
                let image = try fitted(source, columns, rows * 2, options)
                return try blocks(rgba(image), isTrueColor)
            }
        } catch {
            throw KingfisherError(processing: error, identifier: "show")
        }
    }

    private static func fitted(
        _ image: Image, _ width: Int, _ height: Int, _ options: ProcessingOptions
    ) throws(ImagingError) -> Image {
        let (w, h) = (Double(image.bitmap.width), Double(image.bitmap.height))
        let scale = min(1, Double(width) / w, Double(height) / h)
        guard scale < 1,
            let size = SizeSpec(width: max(1, (w * scale).rounded()), height: max(1, (h * scale).rounded()))
        else { return image }
        return try ResizingImageProcessor(size: size).process(.image(image), options: options)
    }

    /// Returns the first frame in sRGB, as 8-bit RGBA.
    private static func rgba(_ image: Image) throws(ImagingError) -> Bitmap {
        try image.convertedToSRGB().bitmap.expanded(to: .rgba)
    }

    private static func kitty(_ data: String) -> String {
        var rest = data[...]
        var text = ""
        var control = "a=T,f=100,"
        repeat {
            let piece = rest.prefix(pieceLength)
            rest = rest.dropFirst(piece.count)
            text += "\u{1b}_G\(control)m=\(rest.isEmpty ? 0 : 1);\(piece)\u{1b}\\"
            control = ""
        } while !rest.isEmpty
        return text + "\n"
    }

    /// Draws each character with the upper pixel as foreground and the lower one as background. Pixels less than half
    /// opaque are left out.
    private static func blocks(_ bitmap: Bitmap, _ isTrueColor: Bool) throws(ImagingError) -> String {
        bitmap.withUnsafeRows { rows in
            var text = ""
            for y in stride(from: 0, to: rows.height, by: 2) {
                let (upper, lower) = (rows.row(y), y + 1 < rows.height ? rows.row(y + 1) : nil)
                for x in 0..<rows.width {
                    let top = color(upper + 4 * x, isTrueColor)
                    let bottom = lower.flatMap { color($0 + 4 * x, isTrueColor) }
                    switch (top, bottom) {
                    case (nil, nil): text += "\u{1b}[0m "
                    case (let top?, nil): text += "\u{1b}[0;38;\(top)m▀"
                    case (nil, let bottom?): text += "\u{1b}[0;38;\(bottom)m▄"
                    case (let top?, let bottom?): text += "\u{1b}[38;\(top);48;\(bottom)m▀"
                    }
                }
                text += "\u{1b}[0m\n"
            }
            return text
        }
    }

    /// Returns the colour numbers behind 38 or 48; nil for a pixel less than half opaque.
    private static func color(_ pixel: UnsafePointer<UInt8>, _ isTrueColor: Bool) -> String? {
        guard pixel[3] >= 128 else { return nil }
        let (red, green, blue) = (Int(pixel[0]), Int(pixel[1]), Int(pixel[2]))
        guard !isTrueColor else { return "2;\(red);\(green);\(blue)" }
        let spread = max(red, green, blue) - min(red, green, blue)
        // The grey ramp has finer steps than the colour cube.
        if spread < 12, (4...246).contains(green) { return "5;\(232 + min(23, max(0, (green - 3) / 10)))" }
        return "5;\(16 + 36 * level(red) + 6 * level(green) + level(blue))"
    }

    /// Returns the nearest level of the cube, whose levels are 0, 95, 135, 175, 215 and 255.
    private static func level(_ value: Int) -> Int { value < 48 ? 0 : value < 115 ? 1 : min(5, (value - 35) / 40) }
}
