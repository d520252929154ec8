import KFNetwork
import KFTerms

/// The remotes that kf knows.
public enum RemoteCacheLayer {
    /// Returns the layer of an address: `http(s)://HOST/PREFIX`, `s3://BUCKET/PREFIX?region=REGION` or `file:///DIRECTORY`.
    ///
    /// An address with user info is sent its name and password. S3 takes its credentials from `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, its region from the address or `AWS_REGION`, and another endpoint
    /// than Amazon's from `AWS_ENDPOINT_URL`. `options` give certificates, proxy, User-Agent and `maxTime`; their
    /// credentials are not used. With `creates`, a missing directory is created. Throws `invalidURL` (1002), with a message that holds no secret.
    public static func layer(
        _ text: String, options: TransferOptions = TransferOptions(), environment: [String: String],
        creates: Bool = false
    ) throws(KingfisherError) -> any CacheLayer {
        let url = try RemoteURL(text)
        switch url.scheme {
        case "file": return try FileCacheLayer(url, creates: creates)
        case "s3": return HTTPCacheLayer(try S3Bucket(url, environment), options)
        default: return HTTPCacheLayer(try WebServer(url), options)
        }
    }
}
