import KFCore

/// What `fetch` and `prefetch` make of their network options.
struct NetworkSettings: Sendable {
    let request: RequestOptions
    let retry: DelayRetryStrategy
    let alternatives: [Source]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var request = RequestOptions()
        if let timeout = try arguments.duration("timeout") { request.timeout = timeout == .zero ? nil : timeout }
        if let maxTime = try arguments.duration("max-time") { request.maxTime = maxTime == .zero ? nil : maxTime }
        if let count = try arguments.integer("max-redirects", in: 0...100) { request.maxRedirects = count }
        if let bytes = try arguments.size("max-bytes") { request.maxBytes = bytes == 0 ? .max : bytes }
        if let agent = arguments.value("user-agent") { request.userAgent = try Self.clean(agent, "user-agent") }
        request.headers = try Self.headers(arguments)
        request.credentials = try Self.credentials(arguments)
        request.netrcFile = arguments.flag("netrc") ? "" : nil
        request.proxy = try arguments.value("proxy").map { text throws(UsageError) in try Self.clean(text, "proxy") }
        request.caFile = arguments.value("cacert")
        request.trustedHosts = Set(arguments.values("trusted-host").map { $0.lowercased() })
        request.forcesHTTP11 = arguments.flag("http1.1")
        request.deniesPrivateAddresses = arguments.flag("deny-private")
        self.request = request
        retry = DelayRetryStrategy(
            maxRetryCount: try arguments.integer("retry", in: 0...100) ?? 2, retryInterval: try Self.interval(arguments)
        )
        alternatives = try Self.alternatives(arguments)
    }

    private static func headers(_ arguments: ParsedArguments) throws(UsageError) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        let values = arguments.values("header")
        for (index, text) in values.enumerated() {
            // The text may be a secret whose colon was forgotten.
            guard let header = HeaderText(text) else {
                let place = values.count > 1 ? "; number \(index + 1) of \(values.count) is not that" : ""
                let note = arguments.setting("header")?.origin.note ?? ""
                throw UsageError(message: "--header takes 'Name: value'\(place)\(note)")
            }
            headers.append((header.name, try clean(header.value, "header")))
        }
        return headers
    }

    private static func credentials(_ arguments: ParsedArguments) throws(UsageError) -> Credentials? {
        guard let text = arguments.value("user") else { return nil }
        guard let colon = text.firstIndex(of: ":") else {
            throw UsageError(message: "--user takes NAME:PASSWORD; kf asks nobody for a password")
        }
        return Credentials(user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    }

    private static func interval(_ arguments: ParsedArguments) throws(UsageError) -> DelayRetryStrategy.Interval {
        guard let text = arguments.value("retry-delay") else { return .exponential(1) }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let milliseconds = ValueText.milliseconds(String(parts[parts.count - 1])) else {
            throw wrongDelay(text)
        }
        let seconds = Double(milliseconds) / 1000
        switch parts.count == 2 ? parts[0] : "" {
        case "": return .seconds(seconds)
        case "accumulated": return .accumulated(seconds)
        case "exponential": return .exponential(seconds)
        default: throw wrongDelay(text)
        }
    }

    private static func wrongDelay(_ text: String) -> UsageError {
        UsageError(message: "--retry-delay takes a time such as 3s, accumulated:3s or exponential:1s, not '\(text)'")
    }

    private static func alternatives(_ arguments: ParsedArguments) throws(UsageError) -> [Source] {
        var sources: [Source] = []
        for text in arguments.values("alternative") {
            do {
                sources.append(.network(try RequestURL(text)))
            } catch {
                throw UsageError(message: "--alternative \(RequestURL.redacted(text)): \(error.message)")
            }
        }
        return sources
    }

    /// What goes into a header must not end it.
    private static func clean(_ text: String, _ option: String) throws(UsageError) -> String {
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
            throw UsageError(message: "--\(option) must not hold line breaks or other control characters")
        }
        return text
    }
}
