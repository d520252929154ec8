/// Files and directories as a WebDAV server keeps them, by their paths with a slash in front.
package struct RemoteTree: Sendable {
    /// What a PUT without its parent directory gets.
    package enum MissingParent: Sendable {
        case isMade
        case isRefused(status: Int)
    }

    package var files: [String: [UInt8]] = [:]
    package var directories: Set<String> = ["/"]
    let missingParent: MissingParent

    init(missingParent: MissingParent) { self.missingParent = missingParent }

    package var bytes: Int { files.values.reduce(0) { $0 + $1.count } }

    static func path(of request: FaultRequest) -> String {
        let path = String(request.path.prefix { $0 != "?" })
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    private static func parent(of path: String) -> String {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// Performs a request as it should be.
    mutating func answer(_ request: FaultRequest) -> [FaultStep] {
        let path = Self.path(of: request)
        switch request.method {
        case "GET", "HEAD":
            guard let body = files[path] else { return [.reply("404 Not Found", body: [])] }
            guard request.method == "HEAD" else { return [.reply(body: body)] }
            return [.head("HTTP/1.1 200 OK", "Content-Length: \(body.count)")]
        case "PUT":
            let status = put(request.body, at: path, ifNew: request.header("If-None-Match") == "*")
            return [status.hasPrefix("204") ? .head("HTTP/1.1 204 No Content") : .reply(status, body: [])]
        case "MKCOL": return [.reply(make(path), body: [])]
        default: return [.reply("405 Method Not Allowed", body: [])]
        }
    }

    private mutating func put(_ body: [UInt8], at path: String, ifNew: Bool) -> String {
        let parent = Self.parent(of: path)
        if !directories.contains(parent) {
            if case .isRefused(let status) = missingParent { return "\(status) No Parent" }
            var made = parent
            while directories.insert(made).inserted { made = Self.parent(of: made) }
        }
        let isThere = files[path] != nil
        if isThere, ifNew { return "412 Precondition Failed" }
        files[path] = body
        return isThere ? "204 No Content" : "201 Created"
    }

    private mutating func make(_ path: String) -> String {
        if files[path] != nil || directories.contains(path) { return "405 Method Not Allowed" }
        guard directories.contains(Self.parent(of: path)) else { return "409 Conflict" }
        directories.insert(path)
        return "201 Created"
    }
}
