import KFSystem

extension Source {
    /// The name that the source gives its image, without its extension; not yet fit for a file name.
    public var fileStem: String {
        let name: String
        switch self {
        case .network(let resource): name = resource.downloadURL.lastPathComponent
        case .provider(let provider as LocalFileImageDataProvider):
            name = String(provider.path.split(separator: "/").last ?? "")
        case .provider: name = ""
        }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
        return String(name[..<dot])
    }
}

extension RequestURL {
    /// Whether the text is an http or https URL.
    public static func isValid(_ text: String) -> Bool {
        if case .success = Result(catching: { () throws(KingfisherError) in try RequestURL(text) }) { return true }
        return false
    }

    /// What a person wrote, without user info: it is to appear nowhere, not even when the rest is no URL.
    public static func withoutUserInfo(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@"), text[..<at].contains(":") else { return text }
        if let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"), (try? RequestURL(text)) != nil {
            let start = text.index(colon, offsetBy: 3)
            let authority = text[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            guard let end = authority.lastIndex(of: "@") else { return text }
            return String(text[..<start] + text[text.index(after: end)...])
        }
        // No URL, but perhaps meant as one, with a slash in its password or without its scheme.
        return "…@" + text[text.index(after: at)...]
    }

    /// The same, and without the query: what messages show.
    public static func redacted(_ text: String) -> String {
        let shown = withoutUserInfo(text)
        guard text.contains("://"), let mark = shown.firstIndex(of: "?") else { return shown }
        return shown[..<mark] + "?…"
    }
}

extension LocalFileImageDataProvider {
    /// From `file:///path` or `file://localhost/path`. Throws `invalidURL` (1002) for files of another machine.
    public init(fileURL text: String, cacheKey: String? = nil) throws(KingfisherError) {
        try self.init(path: Self.path(of: text), cacheKey: cacheKey)
    }

    /// The path that a file: URL means; any other text is a path itself.
    static func path(of text: String) throws(KingfisherError) -> String {
        guard text.prefix(5).lowercased() == "file:" else { return text }
        var rest = text.dropFirst("file:".count)
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            if rest.lowercased().hasPrefix("localhost/") { rest = rest.dropFirst("localhost".count) }
        }
        guard rest.hasPrefix("/") else {
            throw .requestError(
                reason: .invalidURL(problem: "a file: URL has an absolute path, as in file:///tmp/a.png"))
        }
        return RawText.decode(PercentCoding.decodeBytes(rest))
    }
}
