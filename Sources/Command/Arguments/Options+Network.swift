import KFCore

/// Requests, credentials, and the limits of a run.
///
/// A new option of the network is declared here and listed in `network`; `KingfisherOptions.takeNetwork` puts its
/// value into the request's options.
extension Options {
    static let network: [OptionSpec] =
        [
            jobs.spec, timeout.spec, maxTime.spec, retry.spec, retryDelay.spec, mirror.spec, alternative.spec,
            onFailure.spec,
            allowFailures.spec, header.spec, user.spec,
            auth.spec, netrc.spec, cookieJar.spec, userAgent.spec, proxy.spec, cacert.spec, cert.spec, certKey.spec,
            trustedHost.spec,
            maxRedirects.spec,
            maxBytes.spec,
        ] + leavingOut + [
            denyPrivate.spec, http11.spec, maxPerHost.spec, rate.spec, limitRate.spec, deadline.spec,
            grace.spec, progress.spec,
        ]

    /// The filter and the rule about opt-outs, which leave images out.
    static let leavingOut: [OptionSpec] = [
        minBytes.spec, minSize.spec, maxAspect.spec, formats.spec, respectOptOut.spec,
    ]

    static let jobs = Option(
        "jobs", short: "j", .network, value: "N", .number(default: 64, .integer(in: 1...1024)),
        help: "Maximum number of concurrent downloads")
    static let timeout = Option<Duration?>(
        "timeout", .network, value: "TIME", .one(.duration), byDefault: "15s",
        help: "Time limit for connecting and for any stall; 0 disables it")
    static let maxTime = Option<Duration?>(
        "max-time", .network, value: "TIME", .one(.duration), help: "Time limit for each transfer; 0 is no limit")
    static let retry = Option(
        "retry", .network, value: "N", .number(default: 2, .integer(in: 0...100)),
        help: "Retries after a transient failure")
    static let retryDelay = Option<DelayRetryStrategy.Interval>(
        "retry-delay", .network, value: "DELAY",
        .one(
            default: .exponential(1),
            ValueReader("a time such as 3s, accumulated:3s or exponential:1s") { text in
                let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                guard let milliseconds = ValueText.milliseconds(String(parts[parts.count - 1])) else { return nil }
                let seconds = Double(milliseconds) / 1000
                switch parts.count == 2 ? parts[0] : "" {
                case "": return .seconds(seconds)
                case "accumulated": return .accumulated(seconds)
                case "exponential": return .exponential(seconds)
                default: return nil
                }
            }),
        byDefault: "exponential:1s", help: "Delay between retries: 3s, accumulated:3s or exponential:1s")
    static let mirror = Option(
        "mirror", .network, value: "FROM=TO",
        .each(
            ValueReader<SourceMirror> { (given) throws(UsageError) in
                // An equals sign may be part of a path.
                guard let mark = given.text.firstRange(of: "=http") else {
                    throw given.wrong("FROM=TO, two URLs such as https://a.example/img=https://mirror.example/img")
                }
                let place = given.text[mark.lowerBound...].dropFirst()
                do throws(KingfisherError) {
                    return try SourceMirror(of: String(given.text[..<mark.lowerBound]), at: String(place))
                } catch {
                    throw UsageError(message: "--mirror: \(error.message)\(given.origin.note)")
                }
            }),
        secret: .userInfoOfSecond,
        help: "Ask TO before FROM for URLs that begin with FROM; no credentials of FROM go there")
    static let alternative = Option(
        "alternative", .network, value: "URL|FILE",
        .each(
            ValueReader<Source> { (given) throws(UsageError) in
                do throws(KingfisherError) { return try SourceArgument.source(given.text) } catch {
                    let shown = RequestURL.redacted(given.text)
                    throw UsageError(message: "--alternative \(shown): \(error.message)\(given.origin.note)")
                }
            }),
        secret: .userInfo, help: "Fallback, used when the source fails; another origin gets no credentials")
    static let onFailure = Option<String?>(
        "on-failure", .network, value: "FILE", .one(.text(needs: "an image")), secret: .userInfo,
        help: "Write this image in place of one that failed")
    static let allowFailures = Option(
        "allow-failures", .network, .flag, help: "End with 0 in place of 1 when images failed")
    static let header = Option<[(name: String, value: String)]>(
        "header", short: "H", .network, value: "NAME: VALUE",
        OptionForm(absent: [], isRepeatable: true) { (given) throws(UsageError) in
            var headers: [(name: String, value: String)] = []
            for (index, text) in given.texts.enumerated() {
                let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                // The text is not shown: it may be a secret whose colon was forgotten.
                guard parts.count == 2, FieldText.isName(parts[0]) else {
                    let place = given.texts.count > 1 ? "; number \(index + 1) of \(given.texts.count) is not that" : ""
                    throw given.problem("takes 'Name: value'\(place)")
                }
                let name = String(parts[0])
                guard !RequestOptions.isReserved(name) else {
                    throw given.problem("\(name): kf makes ranges and conditions by itself; see --revalidate")
                }
                var value = parts[1].drop { $0 == " " || $0 == "\t" }
                while value.last == " " || value.last == "\t" { value.removeLast() }
                headers.append((name, try ValueReader.headerText.read(given.only(String(value)))))
            }
            return headers
        },
        secret: .header, decidesEntry: true,
        help: "Request header for the source's own origin; part of the cache key unless neutral")
    static let user = Option<Credentials?>(
        "user", short: "u", .network, value: "NAME:PASSWORD",
        OptionForm(absent: nil) { (given) throws(UsageError) in
            guard let colon = given.text.firstIndex(of: ":") else {
                throw given.problem("takes NAME:PASSWORD; kf does not prompt for a password")
            }
            return Credentials(
                user: String(given.text[..<colon]), password: String(given.text[given.text.index(after: colon)...]))
        },
        secret: .whole, decidesEntry: true,
        help: "Credentials, sent only to the source's own origin (scheme, host, port)")
    /// The name of an ``AuthenticationMethod``, in a type that other options have.
    static let auth = Option<String?>(
        "auth", .network, .choice({ AuthenticationMethod.allCases.map(\.rawValue) }, default: "basic", nil) { $0 },
        decidesEntry: true,
        help: "How to send passwords: basic at once; digest and any after the server asks")
    static let netrc = Option(
        "netrc", .network, .flag, decidesEntry: true, help: "Take each host's credentials from ~/.netrc")
    static let cookieJar = Option<String?>(
        "cookie-jar", .network, value: "FILE", .one(.text(needs: "a file")), decidesEntry: true,
        help: "Cookie file (Netscape format) to read at the start and to write at the end")
    static let userAgent = Option<String?>(
        "user-agent", .network, value: "TEXT", .one(.headerText), byDefault: "kf/\(Version.number)",
        help: "User-Agent to send")
    static let proxy = Option<String?>(
        "proxy", .network, value: "URL",
        .one(
            ValueReader { (given) throws(UsageError) in
                let text = try ValueReader.headerText.read(given)
                let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound].lowercased() }
                guard scheme.map(proxySchemes.contains) ?? true else {
                    throw given.wrong("a URL that begins with \(Suggestion.list(proxySchemes.map { "\($0)://" }))")
                }
                return text
            }), secret: .userInfo,
        help: "Proxy to use instead of the one in the environment; empty uses none")
    private static let proxySchemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    static let cacert = Option<String?>(
        "cacert", .network, value: "FILE", .one(.text), decidesEntry: true,
        help: "Certificate authorities to trust (PEM), instead of the system's")
    /// The file of the system's certificate authorities, by the variables of curl and OpenSSL; nil leaves libcurl's.
    static func systemAuthorities(_ environment: [String: String]) -> String? {
        ["CURL_CA_BUNDLE", "SSL_CERT_FILE"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    static let cert = Option<String?>(
        "cert", .network, value: "FILE", .one(.text), decidesEntry: true,
        help: "Client certificate (PEM or .p12), for the source's own origin if it asks for one")
    static let certKey = Option<String?>(
        "cert-key", .network, value: "FILE", .one(.text), help: "Private key of --cert, if its file has none")
    static let trustedHost = Option(
        "trusted-host", .network, value: "HOST", .each(.hostName), decidesEntry: true,
        help: "Accept any certificate of this host")
    static let maxRedirects = Option<Int?>(
        "max-redirects", .network, value: "N", .one(.integer(in: 0...100)), byDefault: "10",
        help: "Maximum number of redirects to follow")
    static let maxBytes = Option<Int64?>(
        "max-bytes", .network, value: "BYTES", .one(.size), byDefault: "256M",
        help: "Refuse larger responses; 0 is no limit")
    static let minBytes = Option<Int64?>(
        "min-bytes", .network, value: "BYTES", .one(.size), help: "Leave out smaller images")
    static let minSize = Option<ImageFilter>(
        "min-size", .network, value: "WxH",
        .one(
            default: ImageFilter(),
            ValueReader("a size in pixels such as 256x256, 256x or x256") { text in
                let sides = text.split(separator: "x", omittingEmptySubsequences: false)
                let numbers = sides.compactMap {
                    $0.isEmpty ? 0 : Int($0).flatMap { (1...1 << 30).contains($0) ? $0 : nil }
                }
                guard sides.count == 2, numbers.count == 2, numbers != [0, 0] else { return nil }
                var filter = ImageFilter()
                (filter.minWidth, filter.minHeight) = (numbers[0], numbers[1])
                return filter
            }),
        help: "Leave out images that are less wide or high; either side may be missing")
    static let maxAspect = Option<Double?>(
        "max-aspect", .network, value: "N", .one(.number(in: 1...1e6)),
        help: "Leave out images whose longer side is more than N times the shorter one")
    static let formats = Option<Set<ImageFormat>?>(
        "formats", .network, value: ValueKind("FORMAT,...", of: { ImageFormat.allCases.map(\.rawValue) }),
        .one(formatSet { ImageFormat.allCases.map(\.rawValue) }),
        help: "Leave out images of other formats, such as jpeg,png,webp")
    /// Reads formats of some words, separated by commas.
    static func formatSet(_ words: @escaping @Sendable () -> [String]) -> ValueReader<Set<ImageFormat>> {
        ValueReader { (given) throws(UsageError) in
            let reader = ValueReader.choice(words) { ImageFormat(rawValue: $0) }
            var formats: Set<ImageFormat> = []
            for part in given.text.split(separator: ",", omittingEmptySubsequences: false) {
                formats.insert(try reader.read(given.only(String(part))))
            }
            return formats
        }
    }
    static let respectOptOut = Option<String?>(
        "respect-opt-out", .network, value: "AGENT", .one(.text(needs: "the name of an agent")), valueOptional: true,
        help: "Leave out images whose responses say noai, noindex or TDM-Reservation: 1; =AGENT: to it, too")
    static let denyPrivate = Option(
        "deny-private", .network, .flag, decidesEntry: true, help: "Refuse private, loopback and link-local addresses")
    static let http11 = Option("http1.1", .network, .flag, help: "Use HTTP/1.1 instead of HTTP/2")
    static let maxPerHost = Option<Int?>(
        "max-per-host", .network, value: "N", .one(.integer(in: 1...1024)), byDefault: "8",
        help: "Maximum number of concurrent downloads from one host")
    static let rate = Option(
        "rate", .network, value: "N/s", OptionForm(absent: HostRates(), parse: HostRates.parse),
        help: "Maximum request rate for each host: 5/s, 90/m or 1000/h; HOST=20/s for one host")
    static let limitRate = Option<Int64?>(
        "limit-rate", .network, value: "BYTES/s",
        .one("at least 1K, such as 500K or 2M/s") { text in
            let number = text.hasSuffix("/s") ? String(text.dropLast(2)) : text
            return ValueText.size(number).flatMap { $0 >= 1024 ? $0 : nil }
        },
        help: "Maximum rate of all downloads together")
    static let deadline = Option<Duration?>(
        "deadline", .network, value: "TIME", .one(.duration),
        help: "Start no new download after this time; 0 is no limit")
    static let grace = Option<Duration?>(
        "grace", .network, value: "TIME",
        .one(default: .seconds(5), ValueReader.duration.map { $0 == .zero ? nil : $0 }),
        byDefault: "5s",
        help: "Time for running downloads to finish when a run ends early; 0 is no limit")
    static let progress = Option<ProgressChoice>(
        "progress", .network, .choice(default: .auto), help: "Show progress on standard error")
}

enum ProgressChoice: String, CaseIterable, Sendable {
    case auto, always, never
}
