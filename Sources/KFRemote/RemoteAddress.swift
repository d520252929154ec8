import KFNetwork
import KFSystem
import KFTerms

/// The place of a server's blobs.
struct RemoteAddress: Sendable {
    /// The URL up to the host, with a slash at its end.
    let root: String
    /// The path below `root` that precedes every blob; empty, or with a slash at its end.
    let prefix: String
    let host: String

    init(_ url: RemoteURL, prefix: String) {
        root = "\(url.scheme)://\(url.authority)/"
        host = url.host
        self.prefix = prefix
    }

    /// Returns the path of a request's blob below the root.
    func path(of request: CacheLayerRequest) -> String { prefix + RemoteLayout.path(of: request.kind, request.name) }

    func url(of request: CacheLayerRequest) -> String { root + path(of: request) }
}

/// The parts of a remote's address.
struct RemoteURL {
    let scheme: String
    let host: String
    /// The host with its port.
    let authority: String
    /// The path, which begins with a slash.
    let path: String
    var credentials: Credentials?
    var region: String?

    /// The schemes of all kinds of remotes.
    static let allSchemes = ["http", "https", "s3", "file"]

    static func invalid(_ problem: String) -> KingfisherError { .requestError(reason: .invalidURL(problem: problem)) }

    /// `name` says where the text comes from, for messages.
    init(
        _ text: String, of name: String = "the address", schemes: [String] = Self.allSchemes
    ) throws(KingfisherError) {
        guard let mark = text.firstRange(of: "://"),
            case let scheme = text[..<mark.lowerBound].lowercased(), schemes.contains(scheme)
        else {
            let forms = schemes.map { "\($0)://" }
            throw Self.invalid(
                "\(name) must begin with \(forms.dropLast().joined(separator: ", ")) or \(forms.last ?? "")")
        }
        guard !text[mark.upperBound...].contains("://") else {
            throw Self.invalid("\(name) holds several URLs; several remotes are given one by one, or one a line")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "#") }) else {
            throw Self.invalid("\(name) must hold no blank, control character or '#'")
        }
        self.scheme = scheme
        var rest = text[mark.upperBound...]
        if let query = rest.firstIndex(of: "?") {
            for parameter in rest[rest.index(after: query)...].split(separator: "&") {
                let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let value = parts.count == 2 ? PercentCoding.decode(parts[1]) : ""
                switch parts[0] {
                case "region" where scheme == "s3": region = value
                default:
                    throw Self.invalid(
                        "\(name) has a parameter that is not known: s3: takes region=REGION, and others take none")
                }
            }
            rest = rest[..<query]
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        var authority = rest[..<slash]
        path = slash == rest.endIndex ? "/" : String(rest[slash...])
        if let at = authority.lastIndex(of: "@") {
            let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            credentials = Credentials(
                user: PercentCoding.decode(parts[0]),
                password: parts.count == 2 ? PercentCoding.decode(parts[1]) : "")
            authority = authority[authority.index(after: at)...]
            guard scheme.hasPrefix("http") else {
                throw Self.invalid("credentials in \(name) belong to http(s) only; S3 takes them from the environment")
            }
        }
        self.authority = authority.lowercased()
        let port = authority.last == "]" ? nil : authority.lastIndex(of: ":")
        host = String(authority[..<(port ?? authority.endIndex)]).lowercased()
        if let port {
            let digits = authority[authority.index(after: port)...]
            guard let number = UInt16(digits, radix: 10), number > 0, digits.first != "+" else {
                throw Self.invalid("\(name) has a wrong port")
            }
        }
        // An encoded slash separates as well.
        let decoded = PercentCoding.decode(path)
        let segments = decoded.split(separator: "/")
        guard !segments.contains(".."), !segments.contains("."), !decoded.utf8.contains(0) else {
            throw Self.invalid("the path of \(name) must not hold ., .. or %00")
        }
    }

    /// The path without slashes at its end; empty for the root.
    var trimmedPath: String {
        var path = path[...]
        while path.last == "/" { path.removeLast() }
        return String(path)
    }

    /// The path without a slash at its beginning and with one at its end; empty for the root.
    var prefix: String { trimmedPath.isEmpty ? "" : String(trimmedPath.drop { $0 == "/" }) + "/" }
}
