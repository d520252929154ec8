import KFCore

/// Text on its way into a page. Keys come from anywhere: none of them may become markup.
enum HTMLText {
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in Terminal.visible(text).unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// `file:///…`, fit for an attribute.
    static func fileURL(_ path: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.".utf8)
        var result: [UInt8] = Array("file://".utf8)
        for byte in RawText.bytes(path) {
            if plain.contains(byte) {
                result.append(byte)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += Array("%\(digits.count == 1 ? "0" : "")\(digits)".utf8)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    static func dataURI(_ bytes: [UInt8], type: String) -> String { "data:\(type);base64,\(Base64.encode(bytes))" }
}
