import KFStorage
import KFSystem
import KFTerms

/// The members of a folder, and the folder itself: the answer of a WebDAV server to PROPFIND (RFC 4918, 9.1).
struct DAVPage: Sendable {
    struct Member: Sendable {
        /// The path in the URL, decoded, without a slash at its end.
        var path = ""
        var isCollection = false
        var size: Int64?
        var modified: Timestamp?
        /// Whether the server could not say what the member is.
        var hasFailed = false
    }

    private(set) var members: [Member] = []

    /// Parses the XML of a response. Nil if it is none.
    init?(_ xml: [UInt8]) {
        var isMultistatus = false
        var member = Member()
        var properties = Member()
        let isWhole = XMLText.read(xml) { path, text in
            // The prefixes of the names stand for DAV:.
            let names = path.map { $0.split(separator: ":").last.map(String.init) ?? "" }
            guard names.first == "multistatus" else { return }
            switch names.dropFirst() {
            case []: isMultistatus = true
            case ["response"]:
                members.append(member)
                member = Member()
            case ["response", "href"]: member.path = Self.path(text)
            case ["response", "status"]: member.hasFailed = !Self.isSuccess(text)
            case ["response", "propstat", "prop", "resourcetype", "collection"]: properties.isCollection = true
            case ["response", "propstat", "prop", "getcontentlength"]: properties.size = Int64(text)
            case ["response", "propstat", "prop", "getlastmodified"]: properties.modified = HTTPDate.parse(text)
            case ["response", "propstat", "status"]: properties.hasFailed = !Self.isSuccess(text)
            case ["response", "propstat"]:
                // The properties that a member does not have come in a group of their own, with status 404.
                if !properties.hasFailed {
                    member.isCollection = properties.isCollection
                    member.size = properties.size
                    member.modified = properties.modified
                }
                properties = Member()
            default: break
            }
        }
        guard isWhole, isMultistatus else { return nil }
    }

    /// Returns the decoded path of a reference: of a URL, or of the path alone.
    private static func path(_ reference: String) -> String {
        var rest = reference[...]
        while rest.last?.isWhitespace == true { rest.removeLast() }
        rest = rest.drop { $0.isWhitespace }
        if let mark = rest.firstRange(of: "://") {
            rest = rest[mark.upperBound...].drop { $0 != "/" }
        }
        return plain(PercentCoding.decode(rest))
    }

    /// Returns a path with one slash between its parts and none at its end, as servers understand it.
    static func plain(_ path: String) -> String { path.split(separator: "/").map { "/\($0)" }.joined() }

    private static func isSuccess(_ status: String) -> Bool {
        let parts = status.split(separator: " ")
        return parts.count > 1 && parts[1] == "200"
    }
}
