/// The credentials and the region of AWS Signature Version 4, which libcurl computes.
///
/// libcurl signs the path as it is given, and every header of `TransferRequest`. It takes the body's hash from the header
/// x-amz-content-sha256. S3 demands that header, and libcurl 7.88 does not add it, so the caller sets it.
package final class AWSSigning: Hashable, Sendable {
    let accessKey: String
    let secretKey: String
    let sessionToken: String?
    private let region: String
    private let service: String

    package init(
        accessKey: String, secretKey: String, sessionToken: String?, region: String, service: String = "s3"
    ) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.region = region
        self.service = service
    }

    /// The value of CURLOPT_AWS_SIGV4. Without a region or service, libcurl would guess both from the host.
    var provider: String { "aws:amz:\(region):\(service)" }

    /// Whether the values can be sent: they become parts of the Authorization header and of `provider`.
    var isSendable: Bool {
        Self.isWord(region) && Self.isWord(service) && !accessKey.isEmpty
            && accessKey.utf8.allSatisfy { 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ",") }
    }

    /// Returns whether libcurl takes the text for one field of `provider`. It reads at most 64 characters.
    private static func isWord(_ text: String) -> Bool {
        1...64 ~= text.utf8.count
            && text.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 | 0x20 &- 0x61 < 26 || $0 == UInt8(ascii: "-") }
    }

    package static func == (left: AWSSigning, right: AWSSigning) -> Bool {
        left === right
            || left.accessKey == right.accessKey && left.secretKey == right.secretKey
                && left.sessionToken == right.sessionToken && left.provider == right.provider
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(accessKey) }
}
