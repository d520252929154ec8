import KFStorage

/// Which request a response answers when it depends on more than the URL (RFC 9111, 4.1).
enum VaryDigest {
    /// Of the values that the request has for the fields that Vary names; nil when it names none. Values are secrets at
    /// times and are not kept.
    static func make(_ headers: HeaderLines, _ request: RequestOptions) -> String? {
        let names = headers.all("vary").flatMap { $0.split(separator: ",") }
            .map { HeaderLines.trimmed($0).lowercased() }.filter { !$0.isEmpty }
        guard !names.isEmpty else { return nil }
        var sha = SHA256()
        for name in Set(names).sorted() {
            sha.update("\(name)\0")
            let values = request.sentHeaders.filter { $0.name.lowercased() == name }.map(\.value)
            for member in FieldMembers.normalised(values, of: name) { sha.update("\(member)\0") }
            if name == "user-agent" { sha.update("\(request.transfer.userAgent)\0") }
        }
        return String(sha.finish().hex.prefix(EntryKey.representationLength))
    }
}
