import KFNetwork
import KFSystem

/// The address of a remote, as `--remote` takes it.
struct RemoteAddress: Sendable {
    /// The URL up to the host, with a slash at its end.
    let root: String
    /// The path below `root` that precedes every blob; empty, or with a slash at its end.
    let prefix: String
    let host: String
    let layout: RemoteLayout
    let isS3: Bool
    var credentials: Credentials?
    var signing: AWSSigning?

    /// Returns the path of a request's blob below the root.
    func path(of request: CacheLayerRequest) -> String { prefix + layout.path(request) }

    func url(of request: CacheLayerRequest) -> String { root + path(of: request) }
}

/// The remotes that kf knows.
public enum RemoteCacheLayer {
    /// Returns the layer of an address: `http(s)://HOST/PREFIX`, `s3://BUCKET/PREFIX?region=REGION` or `file:///DIRECTORY`,
    /// with `?layout=bazel` for a server that stores blobs as Bazel's caches do.
    ///
    /// An address with user info is sent its name and password. S3 takes its credentials from `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, its region from the address or `AWS_REGION`, and another endpoint
    /// than Amazon's from `AWS_ENDPOINT_URL`. `options` give certificates, proxy and User-Agent; its credentials are not
    /// used. With `creates`, a missing directory is created. Throws `invalidURL` (1002), with a message that holds no secret.
    public static func layer(
        _ text: String, options: TransferOptions = TransferOptions(), environment: [String: String],
        creates: Bool = false
    ) throws(KingfisherError) -> any CacheLayer {
        let address = try RemoteURL(text)
        switch address.scheme {
        case "file":
            guard address.host.isEmpty || address.host == "localhost", address.path.count > 1 else {
                throw RemoteURL.invalid("a file: address names a directory of this machine, as in file:///mnt/cache")
            }
            let path = PercentCoding.decode(address.path[...])
            return FileCacheLayer(path, name: "file://\(path)", layout: address.layout, creates: creates)
        case "s3":
            let remote = try s3(address, environment)
            return HTTPCacheLayer(remote, name: "s3://\(address.host)\(address.trimmedPath)", options)
        default:
            guard !address.host.isEmpty else { throw RemoteURL.invalid("the address has no host") }
            let remote = RemoteAddress(
                root: "\(address.scheme)://\(address.authority)/", prefix: address.prefix, host: address.host,
                layout: address.layout, isS3: false, credentials: address.credentials)
            return HTTPCacheLayer(
                remote, name: "\(address.scheme)://\(address.authority)\(address.trimmedPath)", options)
        }
    }

    private static func s3(
        _ address: RemoteURL, _ environment: [String: String]
    ) throws(KingfisherError) -> RemoteAddress {
        // A port makes it no bucket.
        let bucket = address.authority
        guard !bucket.isEmpty, bucket.utf8.allSatisfy({ isPlain($0) && $0 != UInt8(ascii: "/") }) else {
            throw RemoteURL.invalid("an s3: address begins with a bucket, as in s3://bucket/prefix")
        }
        // libcurl signs a path as it is given, so it must not need to be encoded.
        guard address.path.utf8.allSatisfy(isPlain) else {
            throw RemoteURL.invalid("the prefix of an s3: address may hold letters, digits and /._~- only")
        }
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let endpoint = value("AWS_ENDPOINT_URL")
        guard
            let region = address.region ?? value("AWS_REGION") ?? value("AWS_DEFAULT_REGION")
                ?? (endpoint == nil ? nil : "us-east-1")
        else {
            throw RemoteURL.invalid("the region is missing; add ?region=REGION to the s3: address, or set AWS_REGION")
        }
        guard !region.isEmpty, region.utf8.allSatisfy({ isPlain($0) && $0 != UInt8(ascii: "/") }) else {
            throw RemoteURL.invalid("the region may hold letters, digits and - only")
        }
        var signing: AWSSigning?
        if let key = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") {
            signing = AWSSigning(
                accessKey: key, secretKey: secret, sessionToken: value("AWS_SESSION_TOKEN"), region: region)
        }
        let place = try RemoteURL(endpoint ?? "https://s3.\(region).amazonaws.com", of: "AWS_ENDPOINT_URL")
        guard ["http", "https"].contains(place.scheme), !place.host.isEmpty else {
            throw RemoteURL.invalid("AWS_ENDPOINT_URL must be an http(s) URL")
        }
        return RemoteAddress(
            root: "\(place.scheme)://\(place.authority)/", prefix: "\(place.prefix)\(bucket)/\(address.prefix)",
            host: place.host, layout: address.layout, isS3: true, signing: signing)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || byte | 0x20 &- 0x61 < 26 || "/._~-".utf8.contains(byte)
    }
}

/// The parts of a remote's address.
private struct RemoteURL {
    let scheme: String
    let host: String
    /// The host with its port.
    let authority: String
    /// The path, which begins with a slash.
    let path: String
    var credentials: Credentials?
    var layout = RemoteLayout.kf1
    var region: String?

    static func invalid(_ problem: String) -> KingfisherError { .requestError(reason: .invalidURL(problem: problem)) }

    /// `name` says where the text comes from, for messages.
    init(_ text: String, of name: String = "the address") throws(KingfisherError) {
        guard let mark = text.firstRange(of: "://"),
            case let scheme = text[..<mark.lowerBound].lowercased(), ["http", "https", "s3", "file"].contains(scheme)
        else { throw Self.invalid("\(name) must begin with http://, https://, s3:// or file://") }
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
                case "layout":
                    guard let layout = RemoteLayout(rawValue: value) else {
                        throw Self.invalid("the layout of a remote is kf1 or bazel")
                    }
                    self.layout = layout
                case "region" where scheme == "s3": region = value
                default:
                    throw Self.invalid(
                        "\(name) has a parameter that is not known: a remote takes layout=bazel, and s3: region=REGION")
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
            guard let number = UInt16(digits), number > 0, digits.first != "+" else {
                throw Self.invalid("\(name) has a wrong port")
            }
        }
        let segments = path.split(separator: "/").map { PercentCoding.decode($0) }
        guard !segments.contains(".."), !segments.contains(".") else {
            throw Self.invalid("the path of \(name) must not hold . or ..")
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
