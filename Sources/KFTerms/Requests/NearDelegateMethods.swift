import Glibc
import KFImaging
import KFNetwork

// A method of a delegate has a default, so that a delegate whose method has other labels or types compiles, and the method
// is never called. Swift cannot list the methods of a type. It does infer associated types from them: the protocols below
// require methods with the labels of one that may have been meant, and any types. Their defaults tell apart what a
// delegate has.

/// The labels of ``ImageDownloaderDelegate``'s methods with any types. The types tell whether a delegate's method is called.
public protocol _NearDelegateMethods: AnyObject {
    associatedtype _WillURL = RequestURL
    associatedtype _WillRequest = ImageDownloadRequest
    associatedtype _FinishURL = RequestURL
    associatedtype _FinishResponse = ResponseFacts?
    associatedtype _FinishError = KingfisherError?
    associatedtype _Data = [UInt8]
    associatedtype _DataURL = RequestURL
    associatedtype _NewData = [UInt8]?
    associatedtype _Image = Image
    associatedtype _ImageURL = RequestURL
    associatedtype _ImageResponse = ResponseFacts?
    associatedtype _Response = ResponseFacts
    associatedtype _ResponseURL = RequestURL
    associatedtype _Disposition = ResponseDisposition

    func imageDownloader(willDownloadImageFor url: _WillURL, with request: _WillRequest)
    func imageDownloader(
        didFinishDownloadingImageFor url: _FinishURL, with response: _FinishResponse, error: _FinishError)
    func imageDownloader(didDownload data: _Data, for url: _DataURL) -> _NewData
    func imageDownloader(didDownload image: _Image, for url: _ImageURL, with response: _ImageResponse)
    func imageDownloader(didReceive response: _Response, for url: _ResponseURL) async -> _Disposition
}

extension _NearDelegateMethods {
    public func imageDownloader(willDownloadImageFor url: _WillURL, with request: _WillRequest) { uncalled() }
    public func imageDownloader(
        didFinishDownloadingImageFor url: _FinishURL, with response: _FinishResponse, error: _FinishError
    ) { uncalled() }
    public func imageDownloader(didDownload data: _Data, for url: _DataURL) -> _NewData { uncalled() }
    public func imageDownloader(didDownload image: _Image, for url: _ImageURL, with response: _ImageResponse) {
        uncalled()
    }
    public func imageDownloader(didReceive response: _Response, for url: _ResponseURL) async -> _Disposition {
        uncalled()
    }
}

/// The labels of Kingfisher's delegate methods with any types, which are `Never` unless a delegate has the method.
public protocol _KingfisherDelegateMethods: AnyObject {
    associatedtype _Downloader = Never
    associatedtype _KWillURL = Never
    associatedtype _KWillRequest = Never
    associatedtype _KFinishURL = Never
    associatedtype _KFinishResponse = Never
    associatedtype _KFinishError = Never
    associatedtype _KData = Never
    associatedtype _KDataURL = Never
    associatedtype _KNewData = Never
    associatedtype _KTaskData = Never
    associatedtype _KTask = Never
    associatedtype _KNewTaskData = Never
    associatedtype _KImage = Never
    associatedtype _KImageURL = Never
    associatedtype _KImageResponse = Never
    associatedtype _KResponse = Never
    associatedtype _KDisposition = Never
    associatedtype _KOldResponse = Never
    associatedtype _KHandler = Never
    associatedtype _KCode = Never

    func imageDownloader(
        _ downloader: _Downloader, willDownloadImageForURL url: _KWillURL, with request: _KWillRequest)
    func imageDownloader(
        _ downloader: _Downloader, didFinishDownloadingImageForURL url: _KFinishURL, with response: _KFinishResponse,
        error: _KFinishError)
    func imageDownloader(_ downloader: _Downloader, didDownload data: _KData, for url: _KDataURL) -> _KNewData
    func imageDownloader(_ downloader: _Downloader, didDownload data: _KTaskData, with task: _KTask) -> _KNewTaskData
    func imageDownloader(
        _ downloader: _Downloader, didDownload image: _KImage, for url: _KImageURL, with response: _KImageResponse)
    func imageDownloader(_ downloader: _Downloader, didReceive response: _KResponse) async -> _KDisposition
    func imageDownloader(
        _ downloader: _Downloader, didReceive response: _KOldResponse, completionHandler: _KHandler)
    func isValidStatusCode(_ code: _KCode, for downloader: _Downloader) -> Bool
}

extension _KingfisherDelegateMethods {
    public func imageDownloader(
        _ downloader: _Downloader, willDownloadImageForURL url: _KWillURL, with request: _KWillRequest
    ) { uncalled() }
    public func imageDownloader(
        _ downloader: _Downloader, didFinishDownloadingImageForURL url: _KFinishURL, with response: _KFinishResponse,
        error: _KFinishError
    ) { uncalled() }
    public func imageDownloader(_ downloader: _Downloader, didDownload data: _KData, for url: _KDataURL) -> _KNewData {
        uncalled()
    }
    public func imageDownloader(
        _ downloader: _Downloader, didDownload data: _KTaskData, with task: _KTask
    ) -> _KNewTaskData { uncalled() }
    public func imageDownloader(
        _ downloader: _Downloader, didDownload image: _KImage, for url: _KImageURL, with response: _KImageResponse
    ) { uncalled() }
    public func imageDownloader(_ downloader: _Downloader, didReceive response: _KResponse) async -> _KDisposition {
        uncalled()
    }
    public func imageDownloader(
        _ downloader: _Downloader, didReceive response: _KOldResponse, completionHandler: _KHandler
    ) { uncalled() }
    public func isValidStatusCode(_ code: _KCode, for downloader: _Downloader) -> Bool { uncalled() }
}

private func uncalled() -> Never { preconditionFailure("only the types of this method are used") }

extension ImageDownloaderDelegate {
    /// The methods of this type that are never called, each in a sentence with the method that is called in its place.
    package static var uncalledMethods: [String] {
        var sentences: [String] = []
        func compare(_ method: String, _ types: [Any.Type], _ called: [Any.Type]) {
            if types.elementsEqual(called, by: ==) { return }
            func list(_ types: [Any.Type]) -> String { types.map { String(describing: $0) }.joined(separator: ", ") }
            sentences.append("\(method) has the types (\(list(types))), but must have (\(list(called)))")
        }
        func refuse(_ method: String, _ type: Any.Type, _ called: String) {
            if type != Never.self { sentences.append("\(method) is Kingfisher's; its name is now \(called)") }
        }
        let (will, finish) = ("willDownloadImageFor", "didFinishDownloadingImageFor")
        compare(
            "imageDownloader(\(will):with:)", [_WillURL.self, _WillRequest.self],
            [RequestURL.self, ImageDownloadRequest.self])
        compare(
            "imageDownloader(\(finish):with:error:)", [_FinishURL.self, _FinishResponse.self, _FinishError.self],
            [RequestURL.self, ResponseFacts?.self, KingfisherError?.self])
        compare(
            "imageDownloader(didDownload:for:)", [_Data.self, _DataURL.self, _NewData.self],
            [[UInt8].self, RequestURL.self, [UInt8]?.self])
        compare(
            "imageDownloader(didDownload:for:with:)", [_Image.self, _ImageURL.self, _ImageResponse.self],
            [Image.self, RequestURL.self, ResponseFacts?.self])
        compare(
            "imageDownloader(didReceive:for:)", [_Response.self, _ResponseURL.self, _Disposition.self],
            [ResponseFacts.self, RequestURL.self, ResponseDisposition.self])
        refuse("imageDownloader(_:\(will)URL:with:)", _KWillURL.self, "imageDownloader(\(will):with:)")
        refuse(
            "imageDownloader(_:\(finish)URL:with:error:)", _KFinishURL.self, "imageDownloader(\(finish):with:error:)")
        refuse("imageDownloader(_:didDownload:for:)", _KData.self, "imageDownloader(didDownload:for:)")
        refuse("imageDownloader(_:didDownload:with:)", _KTaskData.self, "imageDownloader(didDownload:for:)")
        refuse("imageDownloader(_:didDownload:for:with:)", _KImage.self, "imageDownloader(didDownload:for:with:)")
        refuse("imageDownloader(_:didReceive:)", _KResponse.self, "imageDownloader(didReceive:for:)")
        refuse(
            "imageDownloader(_:didReceive:completionHandler:)", _KOldResponse.self, "imageDownloader(didReceive:for:)")
        refuse("isValidStatusCode(_:for:)", _KCode.self, "isValidStatusCode(_:)")
        return sentences
    }

    /// Prints the methods that are never called to standard error.
    package static func printUncalledMethods() {
        for sentence in uncalledMethods {
            let line = "kf: the delegate \(Self.self) has a method that is never called: \(sentence)\n"
            _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
        }
    }
}
