import CCrypto
import KFStorage
import KFSystem

/// The hash that the bytes of an image must have: as its origin sends them, after transfer decoding, and never as a
/// processor makes them.
///
/// Accepted are the forms of Subresource Integrity (`sha256-BASE64`, `sha384-`, `sha512-`, several separated by blanks),
/// `sha256:HEX`, `sha384:HEX`, `sha512:HEX`, 64 hexadecimal digits for SHA-256, and `md5:HEX` or 32 digits for MD5, which
/// protects from accidents and not from attackers. Of several, those of the strongest kind count, and one of them must
/// match.
public struct ContentHash: Sendable, Hashable, CustomStringConvertible {
    /// A hash function, the weakest first.
    public enum Function: String, CaseIterable, Sendable {
        /// MD5, which protects from accidents only.
        case md5
        /// SHA-256.
        case sha256
        /// SHA-384.
        case sha384
        /// SHA-512.
        case sha512

        var length: Int {
            switch self {
            case .md5: 16
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }

        /// Returns the hash of bytes.
        package func hash(of bytes: [UInt8]) -> ContentHash {
            ContentHash(self, .several([bytes.withUnsafeBytes(hash)]))
        }

        func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
            // Not the calls in one step: they load OpenSSL's configuration and providers, and link 3 MB.
            return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
                switch self {
                case .md5:
                    var context = MD5_CTX()
                    MD5_Init(&context)
                    MD5_Update(&context, bytes.baseAddress, bytes.count)
                    MD5_Final(buffer.baseAddress, &context)
                case .sha256:
                    SHA256.hash(bytes).withBytes { UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
                case .sha384, .sha512:
                    var context = SHA512_CTX()
                    if self == .sha384 { SHA384_Init(&context) } else { SHA512_Init(&context) }
                    SHA512_Update(&context, bytes.baseAddress, bytes.count)
                    SHA512_Final(buffer.baseAddress, &context)
                }
                count = length
            }
        }
    }

    private enum Values: Sendable, Hashable {
        /// By far the most; a lock has one for each image.
        case digest(Digest)
        case several([[UInt8]])
    }

    /// The function of the values.
    public let function: Function
    private let values: Values

    /// Reads a hash; nil for any other text. Kinds of Subresource Integrity that are not known here do not count.
    public init?(_ text: String) {
        var found: [(function: Function, value: [UInt8])] = []
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
            switch Self.value(of: word) {
            case .known(let function, let value): found.append((function, value))
            case .unknownKind: break
            case .invalid: return nil
            }
        }
        let order = Function.allCases
        guard let strongest = order.last(where: { kind in found.contains { $0.function == kind } }) else { return nil }
        let values = found.filter { $0.function == strongest }.map(\.value)
        function = strongest
        if values.count == 1, let digest = strongest == .sha256 ? values[0].withUnsafeBytes(Digest.init) : nil {
            self.values = .digest(digest)
        } else {
            self.values = .several(values)
        }
    }

    private init(_ function: Function, _ values: Values) { (self.function, self.values) = (function, values) }

    package init(_ digest: Digest) { (function, values) = (.sha256, .digest(digest)) }

    /// The SHA-256, if that is the only value.
    package var digest: Digest? {
        if case .digest(let digest) = values { digest } else { nil }
    }

    /// Returns whether bytes have this hash.
    public func matches(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(matches) }

    package func matches(_ bytes: UnsafeRawBufferPointer) -> Bool { matches(value: function.hash(bytes)) }

    /// Returns whether the SHA-256 of some bytes is this hash; nil if it is a hash of another kind.
    package func matches(_ digest: Digest) -> Bool? {
        if case .digest(let own) = values { return own == digest }
        return function == .sha256 ? matches(value: digest.bytes) : nil
    }

    private func matches(value: [UInt8]) -> Bool {
        switch values {
        case .digest(let digest): digest.bytes == value
        case .several(let values): values.contains(value)
        }
    }

    /// The hash as Subresource Integrity writes it; of MD5, `md5:HEX`.
    public var description: String {
        let values =
            switch values {
            case .digest(let digest): [digest.bytes]
            case .several(let values): values
            }
        return values.map { value in
            function == .md5
                ? "md5:" + value.map { $0.digits(2, radix: 16) }.joined()
                : "\(function.rawValue)-\(Base64.encode(value))"
        }.joined(separator: " ")
    }

    private enum Word {
        case known(Function, [UInt8])
        case unknownKind
        case invalid
    }

    private static func value(of word: Substring) -> Word {
        func checked(_ function: Function, _ value: [UInt8]?) -> Word {
            value?.count == function.length ? .known(function, value ?? []) : .invalid
        }
        if let dash = word.firstIndex(of: "-") {
            // Options of Subresource Integrity follow a question mark.
            let digits = word[word.index(after: dash)...].prefix { $0 != "?" }
            let kind = word[..<dash].lowercased()
            guard let function = Function(rawValue: kind), function != .md5 else {
                let isKind = kind.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } && !digits.isEmpty
                return isKind && kind != "md5" ? .unknownKind : .invalid
            }
            var text = String(digits.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
            while text.utf8.count % 4 != 0, text.utf8.count < 100 { text += "=" }
            return checked(function, Base64.decode(text))
        }
        if let colon = word.firstIndex(of: ":") {
            guard let function = Function(rawValue: word[..<colon].lowercased()) else { return .invalid }
            return checked(function, hexadecimal(word[word.index(after: colon)...]))
        }
        let value = hexadecimal(word)
        return checked(value?.count == Function.md5.length ? .md5 : .sha256, value)
    }

    private static func hexadecimal(_ text: Substring) -> [UInt8]? {
        let digits = Array(text.lowercased().utf8)
        guard digits.count % 2 == 0, digits.allSatisfy(\.isLowercaseHex) else { return nil }
        func value(_ digit: UInt8) -> UInt8 { digit < 0x3a ? digit - 0x30 : digit - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { value(digits[$0]) << 4 | value(digits[$0 + 1]) }
    }
}
