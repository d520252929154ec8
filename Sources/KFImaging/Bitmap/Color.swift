/// A colour with 8 bits a channel and straight alpha.
public struct Color: Sendable, Equatable {
    /// The red channel, from 0 to 255.
    public var red: UInt8
    /// The green channel, from 0 to 255.
    public var green: UInt8
    /// The blue channel, from 0 to 255.
    public var blue: UInt8
    /// The alpha channel, from 0 (transparent) to 255 (opaque).
    public var alpha: UInt8

    /// Makes a colour; opaque by default.
    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// Opaque black.
    public static let black = Color(red: 0, green: 0, blue: 0)
    /// Opaque white.
    public static let white = Color(red: 255, green: 255, blue: 255)
    /// Fully transparent black.
    public static let transparent = Color(red: 0, green: 0, blue: 0, alpha: 0)

    /// Red, green, blue and alpha from 0 to 1.
    var units: [Double] { [red, green, blue, alpha].map { Double($0) / 255 } }

    /// Whether a grey pixel can hold the colour.
    var isGray: Bool { red == green && green == blue }

    /// Parses `#rgb`, `#rrggbb`, `#rrggbbaa` or a CSS name such as `tomato`, in either case; nil for any other text.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.first == UInt8(ascii: "#") else {
            self.init(name: text)
            return
        }
        var digits: [UInt8] = []
        for byte in text.utf8.dropFirst() {
            guard digits.count < 8, let digit = Character(UnicodeScalar(byte)).hexDigitValue else { return nil }
            digits.append(UInt8(clamping: digit))
        }
        switch digits.count {
        case 3: self.init(red: digits[0] * 17, green: digits[1] * 17, blue: digits[2] * 17)
        case 6, 8:
            let pairs = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
            self.init(red: pairs[0], green: pairs[1], blue: pairs[2], alpha: pairs.count == 4 ? pairs[3] : 255)
        default: return nil
        }
    }

    /// The colour as `#rrggbbaa` in lower case, the form in processors' identifiers.
    public var hexadecimal: String {
        "#" + [red, green, blue, alpha].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
