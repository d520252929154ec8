import KFImaging
import KFLists
import KFNetwork
import KFPipeline
import KFRemote
import KFStorage
import KFSystem
import KFTerms

// The names by which programs that import KFCore alone use the types of the modules beneath. The command sees no others
// but KFSystem's functions on text: its target depends on these two, and no module is re-exported.

// Images, formats and processors.
public typealias Bitmap = KFImaging.Bitmap
public typealias BitmapRows = KFImaging.BitmapRows
public typealias BlackWhiteProcessor = KFImaging.BlackWhiteProcessor
public typealias BlendImageProcessor = KFImaging.BlendImageProcessor
public typealias BlendMode = KFImaging.BlendMode
public typealias BlurImageProcessor = KFImaging.BlurImageProcessor
public typealias BorderImageProcessor = KFImaging.BorderImageProcessor
public typealias ChainedImageProcessor = KFImaging.ChainedImageProcessor
public typealias CodecLibrary = KFImaging.CodecLibrary
public typealias Color = KFImaging.Color
public typealias ColorControlsProcessor = KFImaging.ColorControlsProcessor
public typealias ContentKind = KFImaging.ContentKind
public typealias CornerRadius = KFImaging.CornerRadius
public typealias CroppingImageProcessor = KFImaging.CroppingImageProcessor
public typealias CustomImageProcessor = KFImaging.CustomImageProcessor
public typealias DecodeLimits = KFImaging.DecodeLimits
public typealias DecodeOptions = KFImaging.DecodeOptions
public typealias DefaultImageProcessor = KFImaging.DefaultImageProcessor
public typealias DownsamplingImageProcessor = KFImaging.DownsamplingImageProcessor
public typealias EncodeOptions = KFImaging.EncodeOptions
public typealias FlippingImageProcessor = KFImaging.FlippingImageProcessor
public typealias FrameChange = KFImaging.FrameChange
public typealias GrayscaleImageProcessor = KFImaging.GrayscaleImageProcessor
public typealias Image = KFImaging.Image
public typealias ImageCodec = KFImaging.ImageCodec
public typealias ImageCodecs = KFImaging.ImageCodecs
public typealias ImageDecoder = KFImaging.ImageDecoder
public typealias ImageEncoder = KFImaging.ImageEncoder
public typealias ImageFormat = KFImaging.ImageFormat
public typealias ImageFrame = KFImaging.ImageFrame
public typealias ImageInfo = KFImaging.ImageInfo
public typealias ImageMetadata = KFImaging.ImageMetadata
public typealias ImageProcessItem = KFImaging.ImageProcessItem
public typealias ImageProcessor = KFImaging.ImageProcessor
public typealias ImageWarning = KFImaging.ImageWarning
public typealias ImagingError = KFImaging.ImagingError
public typealias MutableBitmapRows = KFImaging.MutableBitmapRows
public typealias OverlayImageProcessor = KFImaging.OverlayImageProcessor
public typealias PaddingImageProcessor = KFImaging.PaddingImageProcessor
public typealias PixelFormat = KFImaging.PixelFormat
public typealias PixelSize = KFImaging.PixelSize
public typealias ProcessingOptions = KFImaging.ProcessingOptions
public typealias ProcessorParser = KFImaging.ProcessorParser
public typealias ReadPassage = KFImaging.ReadPassage
public typealias RectCorner = KFImaging.RectCorner
public typealias ResizingImageProcessor = KFImaging.ResizingImageProcessor
public typealias RotatingImageProcessor = KFImaging.RotatingImageProcessor
public typealias RoundCornerImageProcessor = KFImaging.RoundCornerImageProcessor
public typealias SharpenImageProcessor = KFImaging.SharpenImageProcessor
public typealias SizeSpec = KFImaging.SizeSpec
public typealias TintImageProcessor = KFImaging.TintImageProcessor
public typealias TrimmingImageProcessor = KFImaging.TrimmingImageProcessor
public typealias WatermarkImageProcessor = KFImaging.WatermarkImageProcessor

infix operator |> : AdditionPrecedence

/// Returns a processor that runs the left processor, then the right one.
public func |> (left: any ImageProcessor, right: any ImageProcessor) -> any ImageProcessor {
    left.append(another: right)
}

// Requests, and what is told of their transfers.
public typealias AuthenticationMethod = KFNetwork.AuthenticationMethod
public typealias ClientCertificate = KFNetwork.ClientCertificate
public typealias Credentials = KFNetwork.Credentials
public typealias DownloadChallenge = KFNetwork.DownloadChallenge
public typealias DownloadChallengeAnswer = KFNetwork.DownloadChallengeAnswer
public typealias NetworkReach = KFNetwork.NetworkReach
public typealias DownloadMetrics = KFNetwork.DownloadMetrics
public typealias ResponseDisposition = KFNetwork.ResponseDisposition
public typealias TransferOptions = KFNetwork.TransferOptions

// Lists and the names of copies.
public typealias ImageLock = KFLists.ImageLock
public typealias ListFormat = KFLists.ListFormat
public typealias ListOptions = KFLists.ListOptions
public typealias ListShard = KFLists.ListShard
public typealias OutputTemplate = KFLists.OutputTemplate
public typealias PrefetchItem = KFLists.PrefetchItem
public typealias PrefetchLists = KFLists.PrefetchLists
public typealias ShardNames = KFLists.ShardNames

// Remotes.
public typealias CacheLayer = KFRemote.CacheLayer
public typealias CacheLayerAnswer = KFRemote.CacheLayerAnswer
public typealias CacheLayerBody = KFRemote.CacheLayerBody
public typealias CacheLayerRequest = KFRemote.CacheLayerRequest
public typealias RemoteCacheLayer = KFRemote.RemoteCacheLayer

// Expiration, and what the caches hold.
public typealias CacheClock = KFStorage.CacheClock
public typealias CacheFinding = KFStorage.CacheFinding
public typealias CacheShare = KFStorage.CacheShare
public typealias CacheTotals = KFStorage.CacheTotals
public typealias DiskStorageConfig = KFStorage.DiskStorageConfig
public typealias EntryName = KFStorage.EntryName
public typealias EntryOrder = KFStorage.EntryOrder
public typealias ExpirationExtending = KFStorage.ExpirationExtending
public typealias HostPattern = KFStorage.HostPattern
public typealias KeyChoice = KFStorage.KeyChoice
public typealias MemoryStorageConfig = KFStorage.MemoryStorageConfig
public typealias ReadCounts = KFStorage.ReadCounts
public typealias RemoteCounts = KFStorage.RemoteCounts
public typealias PastRemoval = KFStorage.PastRemoval
public typealias Removal = KFStorage.Removal
public typealias StorageExpiration = KFStorage.StorageExpiration
public typealias Timestamp = KFStorage.Timestamp
public typealias Verification = KFStorage.Verification

// Errors.
public typealias ImageDescription = KFTerms.ImageDescription
public typealias ImageMeasure = KFTerms.ImageMeasure
public typealias ImagePlaceholder = KFTerms.ImagePlaceholder
public typealias KingfisherError = KFTerms.KingfisherError
public typealias PropagationError = KFTerms.PropagationError
public typealias TransferFailure = KFTerms.TransferFailure
public typealias UnderlyingError = KFTerms.UnderlyingError

// Sources, and how their images are read.
public typealias Base64ImageDataProvider = KFTerms.Base64ImageDataProvider
public typealias DataURI = KFTerms.DataURI
public typealias ImageDataProvider = KFTerms.ImageDataProvider
public typealias ImageResource = KFTerms.ImageResource
public typealias LocalFileImageDataProvider = KFTerms.LocalFileImageDataProvider
public typealias RawImageDataProvider = KFTerms.RawImageDataProvider
public typealias RequestURL = KFTerms.RequestURL
public typealias Resource = KFTerms.Resource
public typealias Source = KFTerms.Source
public typealias SourceConvertible = KFTerms.SourceConvertible

// Requests, options and what calls them back.
public typealias AnyImageModifier = KFTerms.AnyImageModifier
public typealias AnyModifier = KFTerms.AnyModifier
public typealias AnyRedirectHandler = KFTerms.AnyRedirectHandler
public typealias AuthenticationChallengeResponsible = KFTerms.AuthenticationChallengeResponsible
public typealias CachePolicy = KFTerms.CachePolicy
public typealias CacheSerializer = KFTerms.CacheSerializer
public typealias CallbackQueue = KFTerms.CallbackQueue
public typealias DefaultCacheSerializer = KFTerms.DefaultCacheSerializer
public typealias DelayRetryStrategy = KFTerms.DelayRetryStrategy
public typealias DownloadTask = KFTerms.DownloadTask
public typealias FormatIndicatedCacheSerializer = KFTerms.FormatIndicatedCacheSerializer
public typealias ImageCheck = KFTerms.ImageCheck
public typealias ImageDownloadRedirectHandler = KFTerms.ImageDownloadRedirectHandler
public typealias ImageDownloadRequest = KFTerms.ImageDownloadRequest
public typealias ImageDownloadRequestModifier = KFTerms.ImageDownloadRequestModifier
public typealias ImageDownloaderDelegate = KFTerms.ImageDownloaderDelegate
public typealias ImageModifier = KFTerms.ImageModifier
public typealias ProcessingChain = KFTerms.ProcessingChain
public typealias RequestOptions = KFTerms.RequestOptions
public typealias ResponseFacts = KFTerms.ResponseFacts
public typealias RetryContext = KFTerms.RetryContext
public typealias RetryDecision = KFTerms.RetryDecision
public typealias RetryStrategy = KFTerms.RetryStrategy
public typealias RetryUserInfo = KFTerms.RetryUserInfo

// The manager, its caches and its downloader.
public typealias CachePush = KFPipeline.CachePush
public typealias CacheCleaning = KFPipeline.CacheCleaning
public typealias CacheStoreFailure = KFPipeline.CacheStoreFailure
public typealias CacheType = KFPipeline.CacheType
public typealias ImageCache = KFPipeline.ImageCache
public typealias ImageCacheResult = KFPipeline.ImageCacheResult
public typealias ImageDownloader = KFPipeline.ImageDownloader
public typealias ImageLoadingResult = KFPipeline.ImageLoadingResult
public typealias KingfisherManager = KFPipeline.KingfisherManager
public typealias KingfisherOptions = KFPipeline.KingfisherOptions
public typealias KingfisherOptionsInfo = KFPipeline.KingfisherOptionsInfo
public typealias KingfisherOptionsInfoItem = KFPipeline.KingfisherOptionsInfoItem
public typealias ProgressHandler = KFPipeline.ProgressHandler
public typealias RetrieveImageResult = KFPipeline.RetrieveImageResult

// Results.
public typealias CachedFile = KFTerms.CachedFile
public typealias CacheStoreResult = KFTerms.CacheStoreResult
public typealias ImageFacts = KFTerms.ImageFacts
public typealias ImageFilter = KFTerms.ImageFilter
public typealias ImageMeasures = KFTerms.ImageMeasures
public typealias OptOut = KFTerms.OptOut
public typealias ContentHash = KFTerms.ContentHash
public typealias SourceMirror = KFTerms.SourceMirror
public typealias FetchReason = KFTerms.FetchReason
public typealias RetrievalWay = KFTerms.RetrievalWay
public typealias StoredFile = KFTerms.StoredFile

// Parts of the process that the command needs as well.
package typealias Base64 = KFSystem.Base64
package typealias ByteText = KFSystem.ByteText
package typealias DescriptorLimit = KFSystem.DescriptorLimit
package typealias FieldText = KFSystem.FieldText
package typealias FileDescriptor = KFStorage.FileDescriptor
package typealias GivenKey = KFTerms.GivenKey
package typealias DescribedValues = KFTerms.DescribedValues
package typealias DescriptionLevel = KFTerms.DescriptionLevel
package typealias DescriptionSerializer = KFTerms.DescriptionSerializer
package typealias HostRest = KFNetwork.HostRest
package typealias ImageFolder = KFLists.ImageFolder
package typealias JSONValue = KFSystem.JSONValue
package typealias NearestName = KFImaging.NearestName
package typealias NewFileID = KFLists.NewFileID
package typealias OpenFileName = KFLists.OpenFileName
package typealias OutputDirectory = KFLists.OutputDirectory
package typealias OutputFile = KFLists.OutputFile
package typealias OutputName = KFLists.OutputName
package typealias PercentCoding = KFSystem.PercentCoding
package typealias PrefetchSources = KFLists.PrefetchSources
package typealias ProcessState = KFSystem.ProcessState
package typealias ProcessorSyntax = KFImaging.ProcessorSyntax
package typealias RawText = KFSystem.RawText
package typealias RecordedRow = KFLists.RecordedRow
package typealias RunTally = KFPipeline.RunTally
package typealias SHA256 = KFStorage.SHA256
package typealias SpanText = KFTerms.SpanText
package typealias StandardInput = KFTerms.StandardInput
package typealias StorageError = KFStorage.StorageError
package typealias StrictJSON = KFSystem.StrictJSON
package typealias Version = KFSystem.Version
package typealias VisibleText = KFSystem.VisibleText
