import KFNetwork
import KFStorage

/// The header lines of a response that came over redirects.
///
/// The freshness of an image that came over redirects. The image is as fresh as the least fresh response, varies by the
/// Vary fields of all, and is as private as the most private one (RFC 9111, 3 and 4). The lines state the result in the
/// usual fields, which every version of kf reads. Lines of another name keep the fields of the last response, because a
/// later 304 updates those alone.
extension HeaderLines {
    /// The lines of the last response alone, without those that describe a request.
    package var ofResponse: HeaderLines {
        let own = all(Note.own.rawValue)
        if !own.isEmpty { return HeaderLines(own.filter { !$0.isEmpty }.joined(separator: "\n")) }
        return HeaderLines(text.split(separator: "\n").filter(Self.isOfResponse).joined(separator: "\n"))
    }

    /// Returns the lines for a response that came over redirects.
    package func after(_ redirects: [Redirect], lastModified: String?, received: Timestamp) -> HeaderLines {
        if redirects.isEmpty { return self }
        let hops = [Hop(self, lastModified, received)] + redirects.map { Hop($0, received) }
        let control = Hop.control(of: hops, received: received)
        var fields = control.isEmpty ? [] : [(name: "cache-control", value: control)]
        fields += hops.flatMap(\.vary).map { ("vary", String($0)) }
        let own = text.isEmpty ? [""] : text.split(separator: "\n")
        let status = status
        return HeaderLines(fields + own.map { (Note.own.rawValue, String($0)) }).of(status: status)
    }
}

/// One of the responses.
private struct Hop {
    let control: CacheControl
    let vary: [Substring]
    let isStorable: Bool
    /// Whether a field says how long it is fresh, or is the basis of a guess.
    let statesTime: Bool
    let freshUntil: Timestamp
    let staleIfErrorUntil: Timestamp
    let staleWhileRevalidateUntil: Timestamp
    var isPrivate: Bool

    init(_ lines: HeaderLines, _ lastModified: String?, _ received: Timestamp, isPermanent: Bool = false) {
        let freshness = HTTPFreshness(lines, lastModified: lastModified, received: received)
        control = CacheControl(lines.all("cache-control"))
        vary = lines.all("vary")
        isStorable = freshness.isStorable
        statesTime = freshness.isExplicit || lastModified != nil
        // A permanent redirect is meant to last, and seldom states a time.
        freshUntil =
            isPermanent && !statesTime
            ? received.advanced(by: HTTPFreshness.heuristicLimit) : freshness.freshUntil
        staleIfErrorUntil = freshUntil.advanced(by: freshness.staleIfError)
        staleWhileRevalidateUntil = freshUntil.advanced(by: freshness.staleWhileRevalidate)
        isPrivate = control.isPrivate
    }

    init(_ redirect: Redirect, _ received: Timestamp) {
        self.init(
            redirect.freshness, redirect.headers["last-modified"], received,
            isPermanent: [301, 308].contains(redirect.status))
        // A shared cache does not keep the answers to credentials (RFC 9111, 3.5).
        isPrivate = isPrivate || redirect.givesCredentials
    }

    /// Returns the Cache-Control of all responses together. Ages and dates are part of the times in it.
    static func control(of hops: [Hop], received: Timestamp) -> String {
        var words: [String] = []
        let isStorable = hops.allSatisfy(\.isStorable)
        if !isStorable || hops.contains(where: \.control.noStore) {
            words += isStorable ? ["no-store", "must-understand"] : ["no-store"]
        }
        if hops.contains(where: \.isPrivate) { words.append("private") }
        if hops.contains(where: \.control.noCache) { words.append("no-cache") }
        if hops.contains(where: \.control.mustRevalidate) { words.append("must-revalidate") }
        func end(_ time: KeyPath<Hop, Timestamp>) -> Timestamp { hops.map { $0[keyPath: time] }.min() ?? received }
        let freshUntil = end(\.freshUntil)
        // Without any such field, the caller's own time may apply.
        if hops.contains(where: \.statesTime) { words.append("max-age=\(max(0, freshUntil.since(received)) / 1000)") }
        for (name, time) in [
            ("stale-if-error", \Hop.staleIfErrorUntil), ("stale-while-revalidate", \Hop.staleWhileRevalidateUntil),
        ] {
            let span = end(time).since(freshUntil) / 1000
            if span > 0 { words.append("\(name)=\(span)") }
        }
        return words.joined(separator: ", ")
    }
}
