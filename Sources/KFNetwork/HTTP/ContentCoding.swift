/// The coding that a body came with. Only `identity` is asked for; the others come from servers that do not look at
/// Accept-Encoding, or from files that are stored encoded.
enum ContentCoding: Equatable {
    case identity
    case gzip
    /// In the zlib format or, as some servers send it, without.
    case deflate
    /// One that cannot be decoded, or several. The body is passed on as it comes: some servers name their images' type,
    /// or a character set, in Content-Encoding.
    case unknown(String)

    init(_ fields: HeaderFields) {
        guard fields.contains(.contentEncoding) else {
            self = .identity
            return
        }
        let names = fields.all(.contentEncoding)
            .flatMap { $0.split(separator: ",").map { $0.trimmingBlanks.lowercased() } }
            .filter { !$0.isEmpty && $0 != "identity" }
        switch names.count {
        case 0: self = .identity
        case 1 where names[0] == "gzip" || names[0] == "x-gzip": self = .gzip
        case 1 where names[0] == "deflate": self = .deflate
        default: self = .unknown(names.joined(separator: ", "))
        }
    }

    /// Nil for `identity`.
    var name: String? {
        switch self {
        case .identity: nil
        case .gzip: "gzip"
        case .deflate: "deflate"
        case .unknown(let name): name
        }
    }
}
