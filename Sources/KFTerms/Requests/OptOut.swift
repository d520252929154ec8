import KFNetwork

/// The response headers by which a server forbids the use of an image for data sets: X-Robots-Tag, read as img2dataset
/// reads it, and TDM-Reservation.
public struct OptOut: Hashable, Sendable {
    /// The name of the agent whose directives count beside those for all agents, in lower case; nil for none.
    public var agent: String?

    /// Creates terms.
    public init(agent: String? = nil) { self.agent = agent?.lowercased() }

    private static let directives: Set<Substring> = ["noai", "noimageai", "noindex", "noimageindex"]
    /// The directives with a colon, which no agent precedes.
    private static let valued: Set<Substring> = [
        "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
    ]
    /// The longest value that is looked at, in bytes.
    private static let longest = 4096

    /// Returns the header that opts out, as `Name: value`; nil if none does.
    package func header(in lines: HeaderLines) -> String? {
        if lines.all("tdm-reservation").contains("1") { return "TDM-Reservation: 1" }
        return lines.all("x-robots-tag").first(where: forbids).map { "X-Robots-Tag: \($0)" }
    }

    /// Returns whether a value has one of the directives for all agents or for this one. An agent's name counts for all
    /// directives behind it.
    private func forbids(_ value: Substring) -> Bool {
        var isMeant = true
        for part in value.prefix(Self.longest).split(separator: ",") {
            let words = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            var directive = words[0].trimmingBlanks.lowercased()
            if words.count == 2, !Self.valued.contains(directive[...]) {
                isMeant = directive == agent
                directive = words[1].trimmingBlanks.lowercased()
            }
            if isMeant, Self.directives.contains(directive[...]) { return true }
        }
        return false
    }
}

extension HeaderLines {
    /// Whether the lines are those of an image that was left out.
    package var isLeftOut: Bool { self[.leftOut] != nil }

    /// Returns the lines of a response whose image was left out, with what is known of it.
    package func leftOut(_ response: ResponseFacts, by error: KingfisherError) -> HeaderLines {
        guard error.isLeftOut else { return self }
        var image: ImageMeasures?
        if case .responseError(reason: .filtered(let measures, _, _)) = error { image = measures }
        return updated(by: response.optOut).noting(.leftOut, "1").measuring(image)
    }
}

extension HeaderFields {
    /// The fields that may opt out; none if they are too long to be remembered.
    package var optOut: HeaderLines {
        let lines = HeaderLines(["x-robots-tag", "tdm-reservation"].flatMap { name in all(name).map { (name, $0) } })
        return HeaderLines(lines.text.utf8.count > 8192 ? nil : lines.text)
    }
}
