import KFNetwork
import KFStorage
import KFSystem
import KFTerms

/// An S3 bucket: `s3:` remotes.
struct S3Bucket: BlobServer {
    let name: String
    let address: RemoteAddress
    /// Nil without keys: a public bucket can be read.
    let signing: AWSSigning?
    var credentials: Credentials? { nil }
    var hasCollections: Bool { false }
    var absence: String { "no such bucket" }
    var isAbsence: (@Sendable ([UInt8]) -> Bool)? {
        { String(decoding: $0, as: UTF8.self).firstRange(of: "<Code>NoSuchBucket</Code>") != nil }
    }

    init(_ url: RemoteURL, _ environment: [String: String]) throws(KingfisherError) {
        // A port makes it no bucket.
        let name = url.authority
        guard !name.isEmpty, name.utf8.allSatisfy({ Self.isPlain($0) && $0 != UInt8(ascii: "/") }) else {
            throw RemoteURL.invalid("an s3: address begins with a bucket, as in s3://bucket/prefix")
        }
        // libcurl signs a path as it is given, so it must not need to be encoded.
        guard url.path.utf8.allSatisfy(Self.isPlain) else {
            throw RemoteURL.invalid("the prefix of an s3: address may hold letters, digits and /._~- only")
        }
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let endpoint = value("AWS_ENDPOINT_URL")
        guard
            let region = url.region ?? value("AWS_REGION") ?? value("AWS_DEFAULT_REGION")
                ?? (endpoint == nil ? nil : "us-east-1")
        else {
            throw RemoteURL.invalid("the region is missing; add ?region=REGION to the s3: address, or set AWS_REGION")
        }
        guard !region.isEmpty, region.utf8.allSatisfy({ Self.isPlain($0) && $0 != UInt8(ascii: "/") }) else {
            throw RemoteURL.invalid("the region may hold letters, digits and - only")
        }
        let place = try RemoteURL(
            endpoint ?? "https://s3.\(region).amazonaws.com", of: "AWS_ENDPOINT_URL", schemes: ["http", "https"])
        guard !place.host.isEmpty else { throw RemoteURL.invalid("AWS_ENDPOINT_URL has no host") }
        self.name = "s3://\(url.host)\(url.trimmedPath)"
        address = RemoteAddress(place, prefix: "\(place.prefix)\(name)/\(url.prefix)")
        if let key = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") {
            signing = AWSSigning(
                accessKey: key, secretKey: secret, sessionToken: value("AWS_SESSION_TOKEN"), region: region)
        } else {
            signing = nil
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || byte | 0x20 &- 0x61 < 26 || "/._~-".utf8.contains(byte)
    }

    /// The signature covers the digest of the body, or of nothing.
    func sign(_ request: inout TransferRequest, for blob: CacheLayerRequest) {
        guard let signing else { return }
        request.signing = signing
        let digest =
            switch (blob.operation, blob.kind) {
            case (.write, .object): blob.name
            case (.write(.bytes(let bytes), _), _): bytes.withUnsafeBytes { SHA256.hash($0) }.hex
            default: Self.digestOfNothing
            }
        request.headers.append(("x-amz-content-sha256", digest))
    }

    private static let digestOfNothing = SHA256.hash(UnsafeRawBufferPointer(start: nil, count: 0)).hex

    func advice(on status: Int, _ head: ResponseHead, isWrite: Bool) -> String {
        switch status {
        case 300..<400: head.headers["x-amz-bucket-region"].map { "; the bucket's region is \($0)" } ?? ""
        case 401 where !isWrite, 403 where !isWrite:
            signing == nil
                ? "; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"
                : "; a missing image has this status too if the key may not list the bucket"
        default: ""
        }
    }
}
