import KFCore

/// What `fetch` and `prefetch` make of the options that steer a whole run.
struct RunSettings: Sendable {
    let maxPerHost: Int?
    /// Requests a second to one host.
    let rate: Double?
    /// Nothing new starts once the run has taken so long.
    let deadline: Duration?
    let progress: ProgressBar.Style
    /// How long a run that is to end waits for another process that has the cache locked.
    static let patienceAfterSignal = Duration.seconds(1)

    init(_ arguments: ParsedArguments, quiet: Bool) throws(UsageError) {
        maxPerHost = try arguments.integer("max-per-host", in: 1...1024)
        rate = try Self.rate(arguments)
        deadline = try arguments.duration("deadline").flatMap { $0 == .zero ? nil : $0 }
        let name = arguments.value("progress") ?? "auto"
        guard let choice = ProgressChoice(rawValue: name) else {
            throw UsageError(message: "--progress takes auto, always or never, not '\(name)'")
        }
        progress = ProgressBar.Style(choice, quiet: quiet)
    }

    /// Requests a second: from one a day, so that the span between two of them stays a number of nanoseconds.
    private static let rates = 1 / 86_400.0...1e6

    /// `5/s`, `90/m`, `0.5/s`, `1000/h`; a number alone is a second's.
    private static func rate(_ arguments: ParsedArguments) throws(UsageError) -> Double? {
        guard let text = arguments.value("rate") else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let spans = ["s": 1.0, "m": 60, "h": 3600]
        guard parts.count <= 2, let number = Double(parts[0]),
            let span = spans[parts.count == 2 ? String(parts[1]) : "s"],
            rates.contains(number / span)
        else {
            throw arguments.wrong("rate", "requests a host and time, such as 5/s, 90/m or 1000/h, at least one a day")
        }
        return number / span
    }
}
