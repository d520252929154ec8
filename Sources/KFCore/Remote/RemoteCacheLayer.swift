import KFNetwork

/// The remotes that kf knows.
public enum RemoteCacheLayer {
    /// Returns the layer of an address: `http(s)://HOST/PREFIX`, `s3://BUCKET/PREFIX?region=REGION` or `file:///DIRECTORY`,
    /// with `?layout=bazel` for a server that stores blobs as Bazel's caches do.
    ///
    /// An address with user info is sent its name and password. S3 takes its credentials from `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, its region from the address or `AWS_REGION`, and another endpoint
    /// than Amazon's from `AWS_ENDPOINT_URL`. `options` give certificates, proxy, User-Agent and `maxTime`; their
    /// credentials are not used. With `creates`, a missing directory is created. Throws `invalidURL` (1002), with a message that holds no secret.
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
        let place = try RemoteURL(
            endpoint ?? "https://s3.\(region).amazonaws.com", of: "AWS_ENDPOINT_URL", schemes: ["http", "https"])
        guard !place.host.isEmpty else { throw RemoteURL.invalid("AWS_ENDPOINT_URL has no host") }
        return RemoteAddress(
            root: "\(place.scheme)://\(place.authority)/", prefix: "\(place.prefix)\(bucket)/\(address.prefix)",
            host: place.host, layout: address.layout, isS3: true, signing: signing)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || byte | 0x20 &- 0x61 < 26 || "/._~-".utf8.contains(byte)
    }
}
